import StetStore

extension StoreFile {
    /// Undoes, redoes or reverts as a caller without models does.
    @discardableResult
    func undo(
        _ request: UndoRequest, _ policy: UndoPolicy = .fail, author: String? = nil,
        time: Double = 1
    ) throws -> Commit? {
        var work = UndoWork(self, request, policy, time: { time }) { net, _ in
            try self.violationsOfSchema(&net)
        }
        work.author = author
        return try commit(&work)
    }

    /// The change set of an undo, a redo or a revert that is submitted later.
    func preparedUndo(
        _ request: UndoRequest, author: String? = nil
    ) throws -> EncodedChangeSet? {
        var net = ChangeSetBuilder(schema: schema)
        let prepared = try read { reader in
            try UndoPreparation(reader).prepare(request, .fail, into: &net)
        }
        guard let prepared, let purpose = prepared.purpose(isEmpty: net.isEmpty)
        else { return nil }
        return try net.encoded(
            attributes: prepared.attributes(author: author, scope: nil),
            base: prepared.inverse.base, token: 3, time: 1, for: purpose)
    }
}
