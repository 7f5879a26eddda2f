import Stet
import StetStore
import StetTestSupport
import Testing

@Model private final class Spice {
    @Attribute(.unique) var name: String
    var price: Int = 0
    var isListed: Bool = false
    #Unique<Spice>(\.price, where: { $0.isListed })

    init(_ name: String) { self.name = name }
}

/// Look-ups by unique values in contexts that others have overtaken.
@Suite struct EarlierLookUpTests {
    private static let names = (0..<12).map { "spice \($0)" }

    private let store: Store

    init() throws { try self.init(maximumLag: 100_000) }

    private init(maximumLag: Int) throws {
        var configuration = Store.Configuration()
        configuration.maximumLag = maximumLag
        store = try Store.inMemory(for: Spice.self, configuration: configuration)
    }

    /// A context, and what it shows.
    private struct Reader {
        let context: ManagedContext
        let ids: [String: ObjectID]

        /// Returns the names that are looked up with another result than expected.
        func wrongNames() throws -> [String] {
            try EarlierLookUpTests.names.filter { name in
                try context.object(Spice.self, where: \.name, is: name)?.id != ids[name]
            }
        }
    }

    private func reader() throws -> Reader {
        let context = store.context()
        let spices = try context.fetch(Spice.self).all()
        let ids = Dictionary(uniqueKeysWithValues: spices.map { ($0.name, $0.id) })
        return Reader(context: context, ids: ids)
    }

    private func edit(_ random: inout SeededGenerator) throws {
        let context = store.context()
        var spices = try context.fetch(Spice.self).all()
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let free = Self.names.filter { name in !spices.contains { $0.name == name } }
            let spice = spices.randomElement(using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0...1:
                guard let name = free.randomElement(using: &random) else { continue }
                spices.append(Spice(name))
                context.insert(spices[spices.count - 1])
            case 2: if let name = free.randomElement(using: &random) { spice?.name = name }
            case 3:
                guard let spice else { continue }
                context.delete(spice)
                spices.removeAll { $0 === spice }
            default: spice?.price -= 1
            }
        }
        try context.save()
    }

    @Test(arguments: 1...6, [3, 100_000])
    func aLookUpFindsTheObjectsOfTheRevision(seed: UInt64, maximumLag: Int) throws {
        var random = SeededGenerator(seed: seed)
        let tests = try EarlierLookUpTests(maximumLag: maximumLag)
        var readers = [try tests.reader()]
        for _ in 0..<60 {
            try tests.edit(&random)
            readers.append(try tests.reader())
            for reader in readers.shuffled(using: &random).prefix(4) {
                #expect(try reader.wrongNames() == [], "revision \(reader.context.revision)")
            }
        }
        for reader in readers {
            #expect(try reader.wrongNames() == [], "revision \(reader.context.revision)")
        }
    }

    /// Returns a spice that is saved, and its context.
    private func savedSalt() throws -> (context: ManagedContext, spice: Spice) {
        let context = store.context()
        let spice = Spice("salt")
        context.insert(spice)
        try context.save()
        return (context, spice)
    }

    /// Returns the objects that have the values of a new one according to a context.
    private func holders(
        _ context: ManagedContext, of name: String, price: Int = 0
    ) throws -> [ObjectID] {
        let spice = Spice(name)
        (spice.price, spice.isListed) = (price, true)
        context.insert(spice)
        defer { context.delete(spice) }
        func found<T: StoredValue>(_ property: KeyPath<Spice.Snapshot, T>) throws -> [ObjectID] {
            do {
                _ = try spice.validate(property)
                return []
            } catch let error as ValidationError {
                return error.violations.flatMap(\.others)
            }
        }
        return try found(\.name) + found(\.price)
    }

    @Test func anIndexWithAConditionHasTheObjectsThatMetItThen() throws {
        let context = store.context()
        let (pepper, saffron) = (Spice("pepper"), Spice("saffron"))
        (pepper.price, saffron.price) = (7, 9)
        saffron.isListed = true
        for spice in [pepper, saffron] { context.insert(spice) }
        try context.save()
        let early = store.context()
        pepper.isListed = true
        saffron.isListed = false
        try context.save()
        #expect(try holders(early, of: "salt", price: 7) == [])
        #expect(try holders(early, of: "salt", price: 9) == [saffron.id])
    }

    @Test func aValueIsTakenAsItWasThen() throws {
        let (context, spice) = try savedSalt()
        let early = store.context()
        spice.name = "sugar"
        try context.save()
        #expect(try holders(early, of: "salt") == [spice.id])
        #expect(try holders(early, of: "sugar") == [])
    }

    @Test func noObjectIsFoundByARedactedValue() throws {
        let (context, spice) = try savedSalt()
        let early = store.context()
        context.delete(spice)
        try context.save()
        #expect(try early.object(Spice.self, where: \.name, is: "salt")?.id == spice.id)
        #expect(try holders(early, of: "salt") == [spice.id])
        try store.requestRedaction(of: Spice.self, id: spice.id, \.name).confirm()
        #expect(try early.object(Spice.self, where: \.name, is: "salt") == nil)
        #expect(try holders(early, of: "salt") == [])
    }

    @Test func nothingIsFoundOnceItsHistoryIsTrimmed() throws {
        let (context, spice) = try savedSalt()
        let (early, asked) = (store.context(), store.context())
        for name in ["sugar", "mint"] {
            spice.name = name
            try context.save()
        }
        #expect(try asked.object(Spice.self, where: \.name, is: "salt")?.id == spice.id)
        try store.requestTrim(before: 4).confirm()
        for context in [early, asked] {
            for name in ["salt", "mint", "pepper"] {
                let error = #expect(throws: StoreError.self) {
                    try context.object(Spice.self, where: \.name, is: name)
                }
                #expect(error?.code == .snapshotTooOld)
            }
        }
    }
}
