import Stet
import StetTestSupport
import Testing

/// Random edits of optional embedded values in two contexts, with saves, merges, undos, redos,
/// applied change sets and restarts, beside plain structs that are merged by the rule in words:
/// by member where all sides have the value, otherwise as a whole.
@Suite struct RandomOptionalValueTests {
    /// A plant without its identity.
    private struct Plain: Equatable {
        var site: Site?
        var note: String

        init(_ plant: Plant) { (site, note) = (plant.site, plant.note) }
        init(_ plant: Plant.Snapshot) { (site, note) = (plant.site, plant.note) }

        /// Returns the merged plant.
        static func merged(_ base: Plain, _ mine: Plain, _ theirs: Plain, mineWins: Bool) -> Plain {
            func one<T: Equatable>(_ path: KeyPath<Plain, T>) -> T {
                value(base[keyPath: path], mine[keyPath: path], theirs[keyPath: path])
            }
            func value<T: Equatable>(_ base: T, _ mine: T, _ theirs: T) -> T {
                if mine == base { return theirs }
                if theirs == base { return mine }
                return mineWins ? mine : theirs
            }
            var result = theirs
            result.note = one(\.note)
            guard let one = base.site, let two = mine.site, let three = theirs.site else {
                result.site = value(base.site, mine.site, theirs.site)
                return result
            }
            result.site = Site(
                street: value(one.street, two.street, three.street),
                city: value(one.city, two.city, three.city),
                code: value(one.code, two.code, three.code),
                key: value(one.key, two.key, three.key),
                kind: value(one.kind, two.kind, three.kind))
            return result
        }
    }

    /// A context with the values that its edits are based on.
    private struct Editor {
        let context: ManagedContext
        let plants: [Plant]
        var bases: [Plain]
    }

    private final class Driver {
        private let directory = TemporaryDirectory()
        private var store: Store
        private var editors: [Editor] = []
        private let ids: [ObjectID]
        private var random: SeededGenerator
        /// The plants after each revision.
        private var states: [[Plain]]
        private(set) var wholeMergeCount = 0

        init(seed: UInt64) throws {
            random = SeededGenerator(seed: seed)
            store = try Store.open(at: directory.file(), for: Plant.self)
            let context = store.context()
            let plants = [Plant("Mill", in: "Bern"), Plant("Yard")]
            for plant in plants { context.insert(plant) }
            try context.save()
            ids = plants.map(\.id)
            states = [[], plants.map(Plain.init)]
            try begin()
        }

        private func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
        private func word() -> String { ["", "a", "é", "longer"][number(4)] }
        private func site() -> Site {
            Site(
                street: word(), city: word(), key: number(2) == 0 ? nil : word(),
                kind: number(2) == 0 ? .office : .plant)
        }

        private func begin() throws {
            editors = try (0..<2).map { number in
                let context = store.context(author: "author \(number)")
                let plants = try ids.compactMap { try context.object(Plant.self, id: $0) }
                return Editor(context: context, plants: plants, bases: plants.map(Plain.init))
            }
        }

        func step() throws {
            let editor = number(2)
            switch number(12) {
            case 0...6: edit(editor, number(2))
            case 7...8: try save(editor)
            case 9...10: try restore(editor)
            default: number(3) == 0 ? try restart() : try apply(editor)
            }
        }

        private func edit(_ index: Int, _ place: Int) {
            let plant = editors[index].plants[place]
            if !plant.hasChanges { editors[index].bases[place] = Plain(plant) }
            switch number(6) {
            case 0: plant.site = nil
            case 1: plant.site = site()
            case 2: plant.site?.city = word()
            case 3: plant.site?.key = number(2) == 0 ? nil : word()
            case 4: plant.site?.kind = .plant
            default: plant.note = word()
            }
        }

        private func save(_ index: Int) throws {
            let mineWins = number(2) == 0
            let editor = editors[index]
            editor.context.mergePolicy = mineWins ? .mergeContextWins : .mergeStoreWins
            var expected = states[states.count - 1]
            for (place, plant) in editor.plants.enumerated() {
                let sides = (editor.bases[place], Plain(plant), expected[place])
                count(sides)
                expected[place] = Plain.merged(
                    sides.0, sides.1, sides.2, mineWins: mineWins)
            }
            if try editor.context.save() != nil { states.append(expected) }
            try editor.context.refresh()
            #expect(editor.plants.map(Plain.init) == expected)
            editors[index].bases = expected
            try check()
        }

        private func count(_ sides: (base: Plain, mine: Plain, theirs: Plain)) {
            let sites = [sides.base.site, sides.mine.site, sides.theirs.site]
            if sites.contains(nil), sides.mine.site != sides.base.site,
                sides.theirs.site != sides.base.site
            {
                wholeMergeCount += 1
            }
        }

        /// Undoes or redoes a commit, whose inverse is merged like an edit of its result.
        private func restore(_ index: Int) throws {
            let mineWins = number(2) == 0
            let policy: UndoPolicy = mineWins ? .overwrite : .skip
            let author = "author \(index)"
            let isUndo = number(3) > 0
            let stack = try store.undoStack(author: author)
            guard let step = isUndo ? stack.undo.first : stack.redo.first else { return }
            var expected = states[states.count - 1]
            for revision in step.commits.sorted(by: >) {
                let (before, after) = (
                    states[Int(revision.number) - 1], states[Int(revision.number)]
                )
                for place in expected.indices {
                    count((after[place], before[place], expected[place]))
                    expected[place] = Plain.merged(
                        after[place], before[place], expected[place], mineWins: mineWins)
                }
            }
            if isUndo {
                try store.undo(author: author, policy: policy)
            } else {
                try store.redo(author: author, policy: policy)
            }
            // A step of which nothing is left is discarded by a commit without changes.
            if try store.revision().number >= states.count { states.append(expected) }
            try check()
        }

        /// Applies the changes of one context to another, which has no edits.
        private func apply(_ index: Int) throws {
            let changes = editors[index].context.changes
            let mineWins = number(2) == 0
            let context = store.context()
            context.mergePolicy = mineWins ? .mergeContextWins : .mergeStoreWins
            do { try context.apply(changes) } catch is ConflictError { return }
            try context.save()
            let now = try ids.map { Plain(try #require(try store.object(Plant.self, id: $0))) }
            if try store.revision().number >= states.count { states.append(now) }
            try check()
        }

        private func restart() throws {
            for index in 0..<2 { try save(index) }
            store.close()
            store = try Store.open(at: directory.file(), for: Plant.self)
            try begin()
        }

        private func check() throws {
            let stored = try ids.map { Plain(try #require(try store.object(Plant.self, id: $0))) }
            #expect(stored == states[states.count - 1])
            #expect(try store.revision().number == UInt64(states.count - 1))
            let present = try store.fetch(Plant.self) { $0.site != nil }.count()
            #expect(present == stored.count { $0.site != nil })
        }

        func finish() throws {
            for index in 0..<2 { try save(index) }
            for (revision, state) in states.enumerated().dropFirst() {
                let view = try store.view(asOf: Revision(UInt64(revision)))
                let then = try ids.map {
                    Plain(try #require(try view.object(Plant.self, id: $0)))
                }
                #expect(then == state)
            }
            #expect(try store.verify().problems == [])
        }
    }

    @Test(arguments: 0..<12)
    func theStoreMergesByTheRuleInWords(seed: Int) throws {
        let driver = try Driver(seed: UInt64(seed))
        for _ in 0..<repetitions(600) { try driver.step() }
        try driver.finish()
        #expect(driver.wholeMergeCount > 0)
    }
}
