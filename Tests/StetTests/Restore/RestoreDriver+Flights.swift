#if STET_FAULTS
    import Foundation
    import StetLMDB
    import StetTestModels
    import StetTestSupport
    import Synchronization

    @testable import Stet

    extension RestoreDriver {
        /// The ways in which a flight ends.
        enum FlightEnd: CaseIterable { case landed, waitedFor, conflict, inputOutput, withdrawn }

        /// Runs so many rounds of edits and a save with edits while it is on its way; the first
        /// difference that was seen, or nil.
        @MainActor mutating func runFlights(rounds: Int) async throws -> String? {
            do {
                for _ in 0..<rounds {
                    clock.time.withLock { $0 += 1 }
                    try makeEdits("edits")
                    try await fly()
                }
                let report = try store.verify()
                return report.isClean ? nil : "verify: \(report)"
            } catch let difference as Difference {
                return difference.description
            }
        }

        private mutating func makeEdits(_ when: String) throws {
            for _ in 0..<Int.random(in: 1...8, using: &generator) { editAtRandom() }
            try compare(when)
        }

        /// Whether an object that is about to be inserted refers to one whose deletion was saved:
        /// that is a conflict, which the oracle does not know.
        private func refersToWhatIsGone(_ sent: RestoreModel) -> Bool {
            model.objects.contains { label, object in
                guard sent.objects[label]?.isInContext == true, sent.saved[label] != nil else {
                    return false
                }
                return model.targets(of: object.values).contains { target in
                    guard let target = model.objects[target] else { return false }
                    return target.isInContext && target.isDeleted && !target.hasChanges
                }
            }
        }

        @MainActor private mutating func fly() async throws {
            var sent = model
            let writes = sent.save(at: clock.now())
            if refersToWhatIsGone(sent) {
                context.rollback()
                model.rollBack()
                snapshots = []
                return try compare("a rollback")
            }
            guard writes else {
                let commit = try await context.save("nothing")
                guard commit == nil else { throw Difference(description: "\(commit!)") }
                model = sent
                snapshots = []
                return try compare("a save of nothing")
            }
            var end = FlightEnd.allCases.randomElement(using: &generator) ?? .landed
            if end == .conflict, try !causeConflict() { end = .landed }
            let revision = try store.revision().number
            let keeps = Bool.random(using: &generator)
            let before = model
            let held = HeldWriter(store.file.environment)
            let plug = end == .withdrawn ? await plugQueue() : nil
            let save = Task { [context] in
                try await context.save("flight", onFailure: keeps ? .keepPending : .rollback)
            }
            await until { context.core.saves.inFlight != nil }
            model = sent
            snapshots = []
            try compare("sending off: \(end)")
            try makeEdits("edits in flight: \(end)")
            let hasLaterEdits = context.hasChanges
            let error = await land(end, save, held, plug)
            let name = "\(end)\(keeps ? " keeping" : "")"
            guard (error == nil) == [.landed, .waitedFor].contains(end),
                error == nil || (error is DiscardedEditsError) == hasLaterEdits
            else { throw Difference(description: "\(name) threw \(error as Any)") }
            // A refresh voids the snapshots.
            if end == .waitedFor { snapshots = [] }
            if error != nil {
                flightFailures[end, default: 0] += 1
                model = takenBack(before, sent, keeps)
                snapshots = []
            }
            try compare("the flight: \(name)")
            model.saved.merge(theirs) { $1 }
            try compareDisk(name, Revision(error == nil ? revision + 1 : revision))
            if end == .conflict { try goOn(.conflict) }
        }

        /// Lets the writer have its hands full with what it cannot write.
        @MainActor private func plugQueue() async -> Task<Void, any Error> {
            let other = store.context(author: "plug")
            store.file.environment.faults.failNext(.put, code: LMDBError.noSpace)
            let plug = Task {
                other.insert(Notebook(name: "plug"))
                do {
                    try await other.save()
                    throw Difference(description: "the plug was saved")
                } catch is StoreError {}
            }
            await until { other.core.saves.inFlight != nil && store.file.waitingCount == 0 }
            return plug
        }

        /// Ends the flight; why it failed.
        @MainActor private func land(
            _ end: FlightEnd, _ save: Task<Commit?, any Error>, _ held: HeldWriter,
            _ plug: Task<Void, any Error>?
        ) async -> (any Error)? {
            switch end {
            case .landed, .conflict: held.release()
            case .waitedFor:
                held.release()
                try? context.refresh()
            case .inputOutput:
                store.file.environment.faults.failNext(.commit, code: LMDBError.inputOutput)
                held.release()
            case .withdrawn:
                save.cancel()
                _ = await failure(of: save)
                held.release()
            }
            if let plug, let error = await failure(of: plug) { return error }
            return await failure(of: save)
        }

        /// Returns the state of the oracle after the submitted changes, and all later ones, are
        /// reverted.
        private func takenBack(
            _ before: RestoreModel, _ sent: RestoreModel, _ keeps: Bool
        ) -> RestoreModel {
            var result = model
            for (label, object) in model.objects {
                if let then = before.objects[label],
                    then.isInContext || sent.objects[label]?.isInContext == true
                {
                    result.objects[label] = then
                } else if object.isInContext {
                    result.objects[label] = RestoreModel.Object(
                        values: object.valuesAtInsert, valuesAtInsert: object.valuesAtInsert)
                }
            }
            result.saved = before.saved
            if !keeps { result.rollBack() }
            return result
        }
    }
#endif
