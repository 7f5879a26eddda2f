import StetTestSupport

/// One operation of a simulation as data, which is valid after any others: objects and commits are
/// named by a number that is taken modulo their count.
enum SimulatedOperation: Codable, CustomStringConvertible {
    enum Step: Codable {
        case insert(entity: Int, value: Int, first: Int, second: Int)
        case name(entity: Int, object: Int, value: Int)
        case rate(object: Int, value: Int)
        /// Gives an item a large value.
        case file(object: Int, content: Int?)
        /// Gives an item in a box a sealed value.
        case secret(object: Int, value: UInt8?)
        /// Increments the counter of a box.
        case count(object: Int, by: Int)
        /// Gives a box an embedded value, or removes that.
        case site(object: Int, city: Int?, size: Int?)
        /// Changes a member of a box's embedded value, if it has that.
        case member(object: Int, index: Int, value: Int?)
        /// Changes the array of a box's embedded values.
        case parts(object: Int, PartChange, value: Int)
        case refer(object: Int, slot: Int, target: Int?, place: Int)
        /// Makes an item a member of another one, or moves it there.
        case link(Int, first: Int, second: Int, place: Int)
        case unlink(Int, Int)
        /// Moves an object among the steps of the same item, or among the items of the same box.
        case move(isStep: Bool, object: Int, to: Int)
        /// Deletes an object with its cascade; without the cascade, references to it break the
        /// save.
        case delete(entity: Int, object: Int, cascades: Bool)
    }

    case edit(author: Int?, scope: Bool, group: Int?, isUndoable: Bool, steps: [Step])
    case undo(author: Int, scope: Bool, ReferenceModel.Policy)
    case redo(author: Int, scope: Bool, ReferenceModel.Policy)
    case revert(commit: Int, author: Int?, ReferenceModel.Policy)
    /// Two undos that were prepared at the same time.
    case race(author: Int)
    /// Makes the n-th write of the next operation fail.
    case fail(put: Int)
    enum PartChange: Int, Codable, CaseIterable {
        case insert, remove, move, text, note
    }

    /// Lets a child carry out the next operation, and kills it after this number of microseconds.
    case kill(after: Int)
    case reopen

    var description: String {
        switch self {
        case .edit(let author, let scope, let group, let isUndoable, let steps):
            "edit by \(author ?? -1)\(scope ? " in scope" : "")"
                + (group.map { ", group \($0)" } ?? "") + (isUndoable ? "" : ", not undoable")
                + ": \(steps)"
        case .undo(let author, let scope, let policy):
            "undo by \(author)\(scope ? " in scope" : ""), \(policy)"
        case .redo(let author, let scope, let policy):
            "redo by \(author)\(scope ? " in scope" : ""), \(policy)"
        case .revert(let commit, let author, let policy):
            "revert of \(commit) by \(author ?? -1), \(policy)"
        case .race(let author): "two undos by \(author) at once"
        case .fail(let put): "put \(put) fails"
        case .kill(let time): "a child is killed after \(time) µs"
        case .reopen: "reopen"
        }
    }

    /// The name under which the operation is counted.
    var name: String {
        switch self {
        case .edit: "edits"
        case .undo(_, _, let policy), .redo(_, _, let policy), .revert(_, _, let policy):
            "\(policy)"
        case .race, .fail, .kill, .reopen: "\(self)"
        }
    }

    static func random(_ random: inout SeededGenerator) -> SimulatedOperation {
        func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
        func author() -> Int? { number(8) == 0 ? nil : number(3) }
        func policy() -> ReferenceModel.Policy { ReferenceModel.Policy.allCases[number(3)] }
        switch number(20) {
        case 0..<9:
            return .edit(
                author: author(), scope: number(5) == 0, group: number(4) == 0 ? number(2) : nil,
                isUndoable: number(12) != 0, steps: (0...number(4)).map { _ in step(&random) })
        case 9..<13: return .undo(author: number(3), scope: number(5) == 0, policy())
        case 13..<16: return .redo(author: number(3), scope: number(5) == 0, policy())
        case 16, 17: return .revert(commit: number(1_000), author: author(), policy())
        case 18: return number(2) == 0 ? .race(author: number(3)) : .fail(put: number(4) + 1)
        default:
            switch number(40) {
            case 0: return .kill(after: number(500))
            case 1..<11: return .reopen
            default: return .fail(put: number(8) + 1)
            }
        }
    }

    private static func step(_ random: inout SeededGenerator) -> Step {
        func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
        switch number(28) {
        case 0..<3:
            return .insert(
                entity: number(3) + 1, value: number(12), first: number(100), second: number(100))
        case 3: return .name(entity: number(2) + 1, object: number(100), value: number(12))
        case 4: return .rate(object: number(100), value: number(4))
        case 5, 6:
            return .refer(
                object: number(100), slot: number(2) + 3,
                target: number(4) == 0 ? nil : number(100), place: number(12))
        case 7..<10:
            return .link(
                number(2) + 1, first: number(100), second: number(100), place: number(12))
        case 15, 16: return .count(object: number(100), by: number(9) - 4)
        case 17, 18:
            return .site(
                object: number(100), city: number(3) == 0 ? nil : number(4),
                size: number(2) == 0 ? nil : number(3))
        case 19, 20:
            return .member(
                object: number(100), index: number(2) + 1,
                value: number(6) == 0 ? nil : number(4))
        case 21..<24:
            let change = PartChange.allCases[number(PartChange.allCases.count)]
            return .parts(object: number(100), change, value: number(1_000))
        case 24, 25:
            let count = LargeContents.few.count
            return .file(object: number(100), content: number(4) == 0 ? nil : number(count))
        case 26, 27:
            return .secret(object: number(100), value: number(4) == 0 ? nil : UInt8(number(3)))
        case 10: return .unlink(number(2) + 1, number(100))
        case 11, 12: return .move(isStep: number(2) == 0, object: number(100), to: number(100))
        default:
            return .delete(
                entity: number(3) + 1, object: number(100), cascades: number(6) != 0)
        }
    }
}
