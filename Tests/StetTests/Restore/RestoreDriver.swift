#if STET_FAULTS
    import Foundation
    import Stet
    import StetLMDB
    import StetTestModels
    import StetTestSupport

    /// Makes random edits over a graph, lets saves fail at every stage, and compares what the
    /// context shows with the oracle.
    ///
    /// It returns the first difference instead of failing a test, for its caller knows the seed.
    struct RestoreDriver {
        /// The stage at which a save is made to fail.
        enum Stage: CaseIterable {
            case none, rule, validator, willCommit, conflict, begin, put, commit, mapFull, closure
        }

        /// The kind of save that the caller requested.
        enum Mode: CaseIterable { case save, keepPending, edit }

        struct Difference: Error, CustomStringConvertible {
            let description: String
        }

        struct Refused: Error {}

        final class Clock: Sendable {
            let time = Monitor(1_000.0)
            func now() -> Date { Date(timeIntervalSinceReferenceDate: time.withLock { $0 }) }
        }

        private let directory = TemporaryDirectory()
        let clock = Clock()
        let store: Store
        let context: ManagedContext
        var generator: SeededGenerator
        var model = RestoreModel()
        var objects = LabelledObjects()
        var snapshots: [(ManagedContext.Snapshot, RestoreModel)] = []
        var nextLabel = 0
        /// The values that another context has saved and this one has not seen yet.
        var theirs: [Int: RestoreModel.Values] = [:]
        /// The number of saves that failed at each stage.
        var failures: [Stage: Int] = [:]
        /// The number of flights that failed by each end.
        var flightFailures: [FlightEnd: Int] = [:]

        init(seed: UInt64) throws {
            generator = SeededGenerator(seed: seed)
            var configuration = Store.Configuration()
            configuration.clock = { [clock] in clock.now() }
            store = try Store.open(
                at: directory.file(), for: Notebook.self, Article.self, configuration: configuration
            )
            context = store.context(author: "driver")
        }

        /// Runs so many rounds of edits and a save; the first difference that was seen, or nil.
        mutating func run(rounds: Int) throws -> String? {
            do {
                for _ in 0..<rounds {
                    for _ in 0..<Int.random(in: 1...8, using: &generator) { editAtRandom() }
                    try compare("edits")
                    try save()
                }
                let report = try store.verify()
                return report.isClean ? nil : "verify: \(report)"
            } catch let difference as Difference {
                return difference.description
            }
        }

        // MARK: Comparison

        func compare(_ when: String) throws {
            let shown = try objects.dump(context)
            let expected = model.dump
            guard shown != expected else { return }
            throw Difference(
                description: "after \(when):\n\(Self.difference(shown, expected))\n"
                    + context.debugView.long)
        }

        private static func difference(_ shown: RestoreDump, _ expected: RestoreDump) -> String {
            var lines: [String] = []
            for label in Set(shown.objects.keys).union(expected.objects.keys).sorted()
            where shown.objects[label] != expected.objects[label] {
                lines.append("object \(label) is \(shown.objects[label] as Any)")
                lines.append("  instead of \(expected.objects[label] as Any)")
            }
            if shown.referrers != expected.referrers {
                lines.append("referrers \(shown.referrers) instead of \(expected.referrers)")
            }
            if shown.fetchedNotebooks != expected.fetchedNotebooks
                || shown.fetchedArticles != expected.fetchedArticles
            {
                lines.append("another set of objects is fetched")
            }
            if shown.hasChanges != expected.hasChanges {
                lines.append("hasChanges is \(shown.hasChanges)")
            }
            if shown.netChanges != expected.netChanges {
                lines.append("net changes \(shown.netChanges) instead of \(expected.netChanges)")
            }
            return lines.joined(separator: "\n")
        }

        /// Checks that a new context reads the saved state from the disk.
        func compareDisk(_ when: String, _ revision: Revision) throws {
            let fresh = store.context()
            var found: [Int: RestoreModel.Values] = [:]
            for notebook in try fresh.fetch(Notebook.self).all() {
                found[objects.label(of: notebook.id)] = RestoreModel.Values(
                    kind: .notebook, text: notebook.name, created: notebook.created,
                    updated: notebook.updated)
            }
            for article in try fresh.fetch(Article.self).all() {
                found[objects.label(of: article.id)] = RestoreModel.Values(
                    kind: .article, text: article.title, body: article.body, rating: article.rating,
                    notebook: article.notebook.map { objects.label(of: $0.id) },
                    next: article.next.map { objects.label(of: $0.id) })
            }
            let now = try store.revision()
            guard now == revision else {
                throw Difference(
                    description: "after \(when): revision \(now) instead of \(revision)")
            }
            guard store.file.feed.head == revision else {
                throw Difference(
                    description: "after \(when): \(store.file.feed.head) was published")
            }
            guard found == model.saved else {
                throw Difference(
                    description: "after \(when): the disk has \(found), not \(model.saved)")
            }
        }

        // MARK: Saves

        private mutating func save() throws {
            clock.time.withLock { $0 += 1 }
            let stage = Stage.allCases.randomElement(using: &generator) ?? .none
            let mode = Mode.allCases.randomElement(using: &generator) ?? .save
            let revision = try store.revision()
            let isPossible = try prepareFailure(stage, mode)
            let before = model
            let observer = context.willCommit { _ in if stage == .willCommit { throw Refused() } }
            defer { observer.cancel() }
            var thrown: (any Error)?
            do {
                try runSave(stage, mode)
            } catch {
                thrown = error
            }
            store.file.environment.faults.disarm()
            let name = "\(stage) with \(mode)"
            if let thrown {
                guard isPossible else { throw Difference(description: "\(name) threw \(thrown)") }
                failures[stage, default: 0] += 1
                model = before
                if mode == .save {
                    model.rollBack()
                    snapshots = []
                }
                // A commit of another context causes the conflict.
                let expected = stage == .conflict ? revision.number + 1 : revision.number
                try compare("the failure: \(name)")
                model.saved.merge(theirs) { $1 }
                try compareDisk(name, Revision(expected))
                try goOn(stage)
            } else {
                let wrote = model.save(at: clock.now())
                if isPossible, wrote { throw Difference(description: "\(name) did not throw") }
                snapshots = []
                try compare("the save: \(name)")
                try compareDisk(name, Revision(revision.number + (wrote ? 1 : 0)))
            }
        }

        private func runSave(_ stage: Stage, _ mode: Mode) throws {
            switch mode {
            case .save: try context.save("save")
            case .keepPending: try context.save("save", onFailure: .keepPending)
            case .edit: try context.edit("edit") { if stage == .closure { throw Refused() } }
            }
        }

        /// Sets up what makes the next save fail; false when the stage is not possible now, and the
        /// save succeeds.
        private mutating func prepareFailure(_ stage: Stage, _ mode: Mode) throws -> Bool {
            let faults = store.file.environment.faults
            var future = model
            let writes = future.save(at: clock.now())
            switch stage {
            case .none: return false
            case .rule:
                return breakRule { objects, model, label in
                    objects.articles[label]?.title = " "
                    model.edit(label) { $0.text = " " }
                }
            case .validator:
                return breakRule { objects, model, label in
                    objects.articles[label]?.rating = 5
                    objects.articles[label]?.body = nil
                    model.edit(label) {
                        $0.rating = 5; $0.body = nil
                    }
                }
            case .willCommit: return writes
            case .conflict: return try writes && causeConflict()
            case .begin: faults.failNext(.begin, code: 5)
            case .put:
                faults.failNext(.put, after: Int.random(in: 1...2, using: &generator), code: 28)
            case .commit: faults.failNext(.commit, code: 5)
            case .mapFull: faults.failNext(.put, after: 2, code: LMDBError.mapFull)
            case .closure:
                // The closure itself throws. Without one there is no save at all.
                guard mode == .edit else { return false }
                return true
            }
            if !writes { faults.disarm() }
            return writes
        }

        /// Gives an article of the context values that no save accepts.
        private mutating func breakRule(
            _ change: (LabelledObjects, inout RestoreModel, Int) -> Void
        ) -> Bool {
            let articles = objects.articles.keys.filter {
                model.objects[$0]?.isInContext == true && model.objects[$0]?.isDeleted == false
            }
            guard let label = pick(articles) else { return false }
            change(objects, &model, label)
            return true
        }

        /// Changes an object that this context is about to change.
        mutating func causeConflict() throws -> Bool {
            let stored = model.netChanges.filter { model.saved[$0] != nil }
            guard let label = pick(stored) else { return false }
            let other = store.context(author: "somebody else")
            if let notebook = objects.notebooks[label],
                let theirs = try other.object(Notebook.self, id: notebook.id)
            {
                theirs.name = "theirs \(nextLabel)"
                self.theirs = [label: model.saved[label]!]
                self.theirs[label]?.text = theirs.name
                self.theirs[label]?.updated = clock.now()
            } else if let article = objects.articles[label],
                let theirs = try other.object(Article.self, id: article.id)
            {
                theirs.title = "theirs \(nextLabel)"
                self.theirs = [label: model.saved[label]!]
                self.theirs[label]?.text = theirs.title
            }
            nextLabel += 1
            try other.save("theirs")
            return true
        }

        /// Brings the context back to where it can be saved.
        mutating func goOn(_ stage: Stage) throws {
            guard stage == .conflict || stage == .rule || stage == .validator else { return }
            context.rollback()
            model.rollBack()
            snapshots = []
            if stage == .conflict {
                try context.refresh()
                for (label, values) in model.saved { model.objects[label]?.values = values }
                theirs = [:]
            }
            try compare("going on after \(stage)")
        }
    }
#endif
