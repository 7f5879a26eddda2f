import Stet
import StetTestSupport
import Testing

private enum Underived {
    @Model final class Land {
        var name: String
        init(_ name: String) { self.name = name }
    }
    @Model final class Firm {
        var name: String
        var land: Land?
        init(_ name: String) { self.name = name }
    }
    @Model final class Worker {
        var number: Int
        var firm: Firm?
        init(_ number: Int) { self.number = number }
    }
}

private enum Derived {
    @Model final class Land {
        var name: String
        init(_ name: String) { self.name = name }
    }
    @Model final class Firm {
        var name: String
        var land: Land?
        init(_ name: String) { self.name = name }
    }
    @Model final class Worker {
        var number: Int
        var firm: Firm?
        @Attribute(.indexed) @Derived var place: String { firm?.land?.name ?? "none" }
        @Attribute(.indexed) @Derived var firmName: String? { firm?.name }
        init(_ number: Int) { self.number = number }
    }
}

private enum Renamed {
    @Model final class Land {
        @Attribute(originalName: "name") var title: String
        init(_ title: String) { self.title = title }
    }
    @Model(originalName: "Firm") final class Company {
        @Attribute(originalName: "name") var title: String
        @Attribute(originalName: "land") var country: Land?
        init(_ title: String) { self.title = title }
    }
    @Model final class Worker {
        var number: Int
        @Attribute(originalName: "firm") var company: Company?
        @Attribute(.indexed) @Derived var place: String { company?.country?.title ?? "none" }
        @Attribute(.indexed) @Derived var firmName: String? { company?.title }
        init(_ number: Int) { self.number = number }
    }
}

private enum Removed {
    @Model final class Land {
        var code: Int = 41
        init() {}
    }
    @Model final class Firm {
        var name: String
        var land: Land?
        init(_ name: String) { self.name = name }
    }
    /// The name of the country is gone: one attribute keeps its values, another gets new ones.
    @Model final class Worker {
        var number: Int
        var firm: Firm?
        var place: String = ""
        @Derived var firmName: String? { firm?.name }
        @Derived var code: Int? { firm?.land?.code }
        init(_ number: Int) { self.number = number }
    }
}

private enum Unlinked {
    @Model final class Worker {
        var number: Int
        @Derived var firmName: String? { place }
        var place: String = ""
        init(_ number: Int) { self.number = number }
    }
}

/// Derived attributes that read other objects, of which a migration changes what they read.
@Suite struct DerivedReferenceMigrationTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.file() }
    private static let count = 2_300

    /// Every third worker has no firm, and the second firm has no country.
    private static func place(_ number: Int) -> String { number % 3 == 1 ? "Peru" : "none" }
    private static func firm(_ number: Int) -> String? { [nil, "Acme", "Orbit"][number % 3] }

    private func makeUnderived() throws {
        let store = try Store.open(
            at: path, for: Underived.Land.self, Underived.Firm.self, Underived.Worker.self)
        defer { store.close() }
        let context = store.context(author: "me")
        let firms = ["Acme", "Orbit"].map { Underived.Firm($0) }
        firms[0].land = Underived.Land("Peru")
        for firm in firms { context.insert(firm) }
        for number in 0..<Self.count {
            let worker = Underived.Worker(number)
            worker.firm = number % 3 == 0 ? nil : firms[number % 3 - 1]
            context.insert(worker)
        }
        try context.save()
    }

    private func derived() throws -> Store {
        try Store.open(at: path, for: Derived.Land.self, Derived.Firm.self, Derived.Worker.self)
    }

    @Test func aNewExpressionIsComputedForAllObjects() throws {
        try makeUnderived()
        let store = try derived()
        let workers = try store.fetch(Derived.Worker.self).sorted(by: \.number).all()
        #expect(workers.count == Self.count)
        #expect(workers.map(\.place) == (0..<Self.count).map(Self.place))
        #expect(workers.map(\.firmName) == (0..<Self.count).map(Self.firm))
        let inPeru = store.fetch(Derived.Worker.self) { $0.place == "Peru" }
        #expect(try inPeru.count() == (0..<Self.count).count { $0 % 3 == 1 })
        #expect(try store.verify().problems == [])
        try store.edit { context in
            try context.fetch(Derived.Land.self).all().first?.name = "Chile"
            try context.fetch(Derived.Firm.self) { $0.name == "Orbit" }.all().first?.name = "O"
        }
        #expect(try inPeru.count() == 0)
        let found = store.fetch(Derived.Worker.self) { $0.place == "Chile" || $0.firmName == "O" }
        #expect(try found.count() == (0..<Self.count).count { $0 % 3 != 0 })
        #expect(try store.verify().problems == [])
    }

    @Test func renamedPropertiesOfOtherObjectsAreRead() throws {
        try makeUnderived()
        try derived().close()
        let store = try Store.open(
            at: path, for: Renamed.Land.self, Renamed.Company.self, Renamed.Worker.self)
        let workers = try store.fetch(Renamed.Worker.self).sorted(by: \.number).all()
        #expect(workers.map(\.place) == (0..<Self.count).map(Self.place))
        #expect(workers.map(\.firmName) == (0..<Self.count).map(Self.firm))
        try store.edit { context in
            try context.fetch(Renamed.Land.self).all().first?.title = "Chile"
        }
        let inChile = store.fetch(Renamed.Worker.self) { $0.place == "Chile" }
        #expect(try inChile.count() == (0..<Self.count).count { $0 % 3 == 1 })
        #expect(try store.verify().problems == [])
    }

    @Test func aRemovedPropertyLeavesValuesOrIsReplaced() throws {
        try makeUnderived()
        try derived().close()
        let store = try Store.open(
            at: path, for: Removed.Land.self, Removed.Firm.self, Removed.Worker.self)
        let workers = try store.fetch(Removed.Worker.self).sorted(by: \.number).all()
        #expect(workers.map(\.place) == (0..<Self.count).map(Self.place))
        #expect(workers.map(\.firmName) == (0..<Self.count).map(Self.firm))
        #expect(workers.map(\.code) == (0..<Self.count).map { $0 % 3 == 1 ? 41 : nil })
        #expect(try store.verify().problems == [])
        store.close()
        // The reference is gone with both models, and the attribute is derived from another one.
        var configuration = Store.Configuration()
        configuration.removedModels = ["Firm", "Land"]
        let last = try Store.open(
            at: path, for: Unlinked.Worker.self, configuration: configuration)
        let unlinked = try last.fetch(Unlinked.Worker.self).sorted(by: \.number).all()
        #expect(unlinked.map(\.firmName) == (0..<Self.count).map(Self.place))
        #expect(try last.verify().problems == [])
    }
}
