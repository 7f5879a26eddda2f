import ArgumentParser
import FoundationEssentials
import StetStore

/// A state of a store that `--as-of` names.
enum RevisionOrDate: ExpressibleByArgument {
    case revision(Revision)
    case date(Date)

    init?(argument: String) {
        if let number = UInt64(argument) {
            self = .revision(Revision(number))
        } else if let date = Date(exactText: argument) {
            self = .date(date)
        } else {
            return nil
        }
    }

    /// The state to be restored from a shipped journal.
    var restorePoint: RestorePoint {
        switch self {
        case .revision(let revision): .bound(.revision(revision))
        case .date(let date): .time(date.timeIntervalSinceReferenceDate)
        }
    }

    /// Returns the revision.
    ///
    /// - Throws: `Failure` when the store has no revision with the number; `StoreError`
    ///   (`.historyTrimmed`) when its state can no longer be read.
    func revision(_ reader: borrowing StoreReader, in path: String) throws -> Revision {
        let revision = try named(reader, in: path)
        let floor = try reader.floor()
        guard revision >= floor else {
            throw StoreError.historyTrimmed(revision, floor: floor, path: path)
        }
        return revision
    }

    private func named(_ reader: borrowing StoreReader, in path: String) throws -> Revision {
        switch self {
        case .date(let date):
            return try reader.lastRevision(until: date.timeIntervalSinceReferenceDate)
        case .revision(let revision):
            let last = try reader.head().revision
            guard revision <= last else {
                throw Failure(
                    missing: "revision \(revision)", in: path,
                    advice: "The last revision is \(last).")
            }
            return revision
        }
    }
}

/// The options of commands that show earlier states.
struct MomentOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The objects as they were at a revision, or at a time in ISO 8601.",
            valueName: "revision|date"))
    var asOf: RevisionOrDate?

    /// Returns the revision to show.
    func revision(_ reader: borrowing StoreReader, in path: String) throws -> Revision {
        try asOf?.revision(reader, in: path) ?? reader.head().revision
    }
}

extension StoreFile {
    /// Returns the number of an entity.
    ///
    /// - Throws: `Failure` when the store has no entity with the name.
    func number(ofEntity name: String) throws -> EntityNumber {
        if let number = schema.number(ofEntity: name) { return number }
        let names = entityNumbers.map { schema.entities[$0].name }.joined(separator: ", ")
        throw Failure(missing: "entity \(name)", in: path, advice: "It has: \(names).")
    }

    /// The numbers of the entities that are not removed.
    var entityNumbers: [EntityNumber] {
        schema.entities.numbers.filter { schema.entity(numbered: $0) != nil }
    }
}
