import StetLMDB

/// The effect of a trim.
package struct TrimPlan: Hashable, Sendable {
    /// The steps on the stacks of an author that could not be undone or redone any more.
    package struct LostSteps: Hashable, Sendable {
        package let author: String
        package let scope: String?
        package let undoCount: Int
        package let redoCount: Int

        package init(author: String, scope: String?, undoCount: Int, redoCount: Int) {
            self.author = author
            self.scope = scope
            self.undoCount = undoCount
            self.redoCount = redoCount
        }
    }

    /// The last commit that would be removed.
    package let floor: Revision
    package let commitCount: Int
    /// The number of bytes of their entries.
    package let byteCount: Int
    /// The lost steps, by author and scope.
    package let lostSteps: [LostSteps]
    /// The durable subscriptions that keep commits from being removed, in ascending order.
    package let heldBy: [String]
}

extension TrimPlan {
    /// Computes the effect of removing the commits up to a revision.
    ///
    /// - Complexity: O(entries to be removed + commits on stacks) reads; no values are read.
    package init(through last: Revision, _ reader: borrowing StoreReader) throws {
        let floor = try reader.floor()
        let wanted = max(min(last, try reader.head().revision), floor)
        let held = try SubscriptionTable.historyLimit(in: reader.transaction)
        let last = max(min(wanted, held?.last ?? wanted), floor)
        var byteCount = 0
        let upper = withUnsafeBytes(of: last.next.number.bigEndian) { Array($0) }
        try reader.transaction.scan(reader.file.journal.table, KeyRange(upper: upper)) { _, value in
            byteCount += value.count
            return true
        }
        let lost = try UndoOwner.all(in: reader.transaction).compactMap { owner, heads in
            let undo = try Self.stepCount(from: heads.undo, of: owner, through: last, reader)
            let redo = try Self.stepCount(from: heads.redo, of: owner, through: last, reader)
            return undo + redo == 0
                ? nil
                : TrimPlan.LostSteps(
                    author: owner.author, scope: owner.scope, undoCount: undo, redoCount: redo)
        }
        self.init(
            floor: last, commitCount: Int(last.number - floor.number), byteCount: byteCount,
            lostSteps: lost.sorted { ($0.author, $0.scope ?? "") < ($1.author, $1.scope ?? "") },
            heldBy: last < wanted ? held?.names ?? [] : [])
    }

    /// Returns the number of a stack's steps with commits up to a revision and after the current
    /// floor.
    private static func stepCount(
        from top: Revision, of owner: UndoOwner, through last: Revision,
        _ reader: borrowing StoreReader
    ) throws -> Int {
        let floor = try reader.floor()
        var next = top
        var count = 0
        while next > floor {
            let step: UndoStep?
            do {
                step = try reader.step(at: next, of: owner)
            } catch let error as StoreError where error.code == .historyTrimmed {
                return count
            }
            guard let step else { break }
            if step.revisions.contains(where: { $0 <= last }) {
                count += 1
            }
            next = step.nextTop
        }
        return count
    }
}
