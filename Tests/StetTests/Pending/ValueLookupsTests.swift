import Foundation
import StetTestSupport
import Testing

@testable import Stet

@Model private final class Herb {
    @Attribute(.trimmed, .unique(.caseInsensitive)) var name: String
    @Attribute(.unique) var number: Int?
    var family: HerbFamily?
    @Attribute(.unique) @Derived var label: String { (family?.name ?? "") + name }

    init(_ name: String) { self.name = name }
}

@Model private final class HerbFamily {
    var name: String

    init(_ name: String) { self.name = name }
}

@Model private final class HerbCode {
    @Attribute(.trimmed) var text: String
    @Attribute(.unique) @Derived var code: String { text + "!" }

    init(_ text: String) { self.text = text }
}

/// Looks another herb up before it is saved.
@Model private final class HerbNote {
    @Attribute(.unique) var text: String
    @Transient var found: (() -> Bool)?
    @Transient var isFound = false

    init(_ text: String) { self.text = text }

    func willSave() { if let found { isFound = found() } }
}

/// Look-ups by unique values beside pending changes.
@Suite struct ValueLookupsTests {
    /// Random edits, each followed by a look-up or by none, beside all objects read one by one.
    @Test(arguments: 1...40) func lookUpsSeeWhatIsPending(seed: UInt64) throws {
        var run = try Run(seed: seed)
        for _ in 0..<300 {
            try run.edit()
            if run.random.next() % 3 != 0 { try run.compare() }
        }
    }

    private struct Run {
        let store: Store
        let context: ManagedContext
        let families: [HerbFamily]
        var random: SeededGenerator
        var herbs: [Herb] = []
        var snapshot: ManagedContext.Snapshot?

        init(seed: UInt64) throws {
            random = SeededGenerator(seed: seed)
            store = try Store.inMemory(for: Herb.self, HerbFamily.self, HerbNote.self)
            context = store.context()
            families = [HerbFamily("x"), HerbFamily("y")]
            for family in families { context.insert(family) }
            try context.save()
        }

        private mutating func name() -> String {
            ["a", "A", "b", " b", "c", "C ", "d"][Int(random.next() % 7)]
        }

        mutating func edit() throws {
            let herb = herbs.isEmpty ? nil : herbs[Int(random.next() % UInt64(herbs.count))]
            let isThere = herb.map { $0.context === context && !$0.isDeleted } ?? false
            switch random.next() % 20 {
            case 0...3:
                herbs.append(Herb(name()))
                context.insert(herbs[herbs.count - 1])
            case 4...6 where isThere: herb?.name = name()
            case 7...8 where isThere: herb?.number = Int(random.next() % 4)
            case 9 where isThere: herb?.family = families[Int(random.next() % 2)]
            case 10 where isThere: context.delete(herb!)
            case 11 where herb?.hasChanges == true && !isThere: context.insert(herb!)
            case 12 where isThere: context.rollback(herb!)
            case 13: families[Int(random.next() % 2)].name = name()
            case 14: snapshot = context.snapshot()
            case 15:
                if let snapshot, !snapshot.isVoid { context.restore(snapshot) }
            case 16...17: try save()
            case 18: try editElsewhere()
            default: if random.next() % 4 == 0 { context.rollback() }
            }
            herbs.removeAll { $0.context == nil }
        }

        private mutating func save() throws {
            do {
                try context.save(onFailure: random.next() % 2 == 0 ? .keepPending : .rollback)
            } catch is ValidationError {
            } catch let error as ConflictError where error.reason == .changed {
                context.rollback()
            }
        }

        /// Others take one of the values, or let go of one.
        private mutating func editElsewhere() throws {
            let other = store.context()
            let (name, found) = (name(), try other.fetch(Herb.self).first())
            if let found, random.next() % 2 == 0 { found.name = name }
            if random.next() % 2 == 0 { other.insert(Herb(name)) }
            do {
                try other.save()
            } catch is ValidationError {
            }
            if !context.hasChanges { try context.refresh() }
        }

        mutating func compare() throws {
            let all = try context.fetch(Herb.self).all()
            let name = name()
            try expect(
                context.object(Herb.self, where: \.name, is: name),
                among: all.filter { normalized($0.name) == normalized(name) })
            let number = Int(random.next() % 4)
            try expect(
                context.object(Herb.self, where: \.number, is: number),
                among: all.filter { $0.number == number })
            // A herb without changes is found by its stored label, as in a query.
            let label = "x" + name
            try expect(
                context.object(Herb.self, where: \.label, is: label),
                among: context.fetch(Herb.self) { $0.label == label }.all())
        }

        private func normalized(_ name: String) -> String {
            name.trimmingCharacters(in: .whitespaces).lowercased()
        }

        private func expect(_ found: Herb?, among herbs: [Herb]) {
            if let found {
                #expect(herbs.contains { $0 === found })
            } else {
                #expect(herbs.isEmpty)
            }
        }
    }

    @Test func aSaveThatNormalizesAValueFindsIt() throws {
        let store = try Store.inMemory(for: Herb.self, HerbFamily.self, HerbNote.self)
        let context = store.context()
        let herb = Herb(" oak ")
        let label = HerbNote("oak")
        context.insert(herb)
        context.insert(label)
        #expect(try context.object(Herb.self, where: \.name, is: "oak ") === herb)
        label.found = {
            (try? context.object(Herb.self, where: \.name, is: "oak")) === herb
        }
        try context.save()
        #expect(label.isFound)
    }

    @Test func aSaveThatNormalizesWhatAValueIsDerivedFromFindsIt() throws {
        let store = try Store.inMemory(
            for: Herb.self, HerbFamily.self, HerbCode.self, HerbNote.self)
        let context = store.context()
        let code = HerbCode(" oak ")
        let note = HerbNote("oak")
        context.insert(code)
        context.insert(note)
        #expect(try context.object(HerbCode.self, where: \.code, is: " oak !") === code)
        note.found = {
            (try? context.object(HerbCode.self, where: \.code, is: "oak!")) === code
        }
        try context.save()
        #expect(note.isFound)
    }

    @Test func fewObjectsThatAreEditedOftenTakeLittleMemory() throws {
        let store = try Store.inMemory(for: Herb.self, HerbFamily.self, HerbNote.self)
        let context = store.context()
        let note = HerbNote("")
        context.insert(note)
        for number in 0..<5_000 {
            note.text = "\(number)"
            let found = try context.object(HerbNote.self, where: \.text, is: "\(number)")
            #expect(found === note)
        }
        #expect(try context.object(HerbNote.self, where: \.text, is: "4998") == nil)
        let editCount = try #require(context.core.pending.lookups?.editCount)
        #expect(editCount <= 1_003)
    }

    @Test func valuesThatAreDerivedFromTheObjectItselfAreKept() throws {
        let store = try Store.inMemory(for: Herb.self, HerbFamily.self, HerbCode.self)
        let context = store.context()
        let codes = (0..<3).map { HerbCode("\($0)") }
        for code in codes { context.insert(code) }
        #expect(try context.object(HerbCode.self, where: \.code, is: "1!") === codes[1])
        codes[1].text = "7"
        #expect(try context.object(HerbCode.self, where: \.code, is: "1!") == nil)
        #expect(try context.object(HerbCode.self, where: \.code, is: "7!") === codes[1])
        // Otherwise each look-up would look at all pending objects.
        #expect(context.core.pending.lookups?.editCount == 1)
    }

    @Test func hooksThatLookUpRunOncePerRound() throws {
        let store = try Store.inMemory(for: Herb.self, HerbFamily.self, HerbNote.self)
        let context = store.context()
        let label = HerbNote("a")
        context.insert(label)
        var calls = 0
        label.found = {
            calls += 1
            if calls == 1 {
                label.text += "b"
                _ = try? context.object(HerbNote.self, where: \.text, is: "ab")
                label.text += "c"
            }
            return true
        }
        try context.save()
        #expect(label.text == "abc")
        // Once because of the insertion, and once because the first call has changed the label.
        #expect(calls == 2)
    }
}
