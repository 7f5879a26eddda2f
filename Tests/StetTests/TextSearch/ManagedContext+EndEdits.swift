import Stet
import StetTestSupport

extension ManagedContext {
    /// Ends random edits: saves them, rolls back, or rolls back and undoes or redoes a commit of
    /// the first author; then often refreshes the context.
    func endEdits(_ random: inout SeededGenerator) throws {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: rollback()
        case 1:
            rollback()
            _ = try? store.undo(author: "author 0")
        case 2:
            rollback()
            _ = try? store.redo(author: "author 0")
        default: _ = try? save()
        }
        if Bool.random(using: &random) { try refresh() }
    }
}
