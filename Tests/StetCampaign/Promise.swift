import Foundation
import StetStore

/// A line in which a process of the campaign reports a promise of the store, or a request that it
/// is about to make.
enum Promise {
    /// A commit has returned.
    case committed(Acknowledgement)
    /// A commit failed, and is reported as not committed.
    case refused(token: UInt64)
    /// The journal is about to be trimmed to begin after this revision, or has been.
    case trimming(Revision)
    case trimmed(Revision)
    /// The commits up to a revision contain only the present value of a property.
    case redacted(RedactionRequest, through: Revision)
    /// A copy is about to be made, or has been made; its name, without the name of the store.
    case copying(String)
    case copied(String)
    /// The store has been migrated to the later models.
    case migrated
    case secret(SecretPromise)

    /// Reads a line that begins with `ack`; nil for anything else.
    init?(_ line: String) {
        if let acknowledgement = Acknowledgement(line) {
            self = .committed(acknowledgement)
            return
        }
        let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
        guard words.count > 1, words[0] == "ack" else { return nil }
        let numbers = words.dropFirst(2).map { UInt64($0) ?? 0 }
        switch (words[1], words.count) {
        case ("refused", 3): self = .refused(token: numbers[0])
        case ("trimming", 3): self = .trimming(Revision(numbers[0]))
        case ("trimmed", 3): self = .trimmed(Revision(numbers[0]))
        case ("redacted", 7):
            self = .redacted(
                RedactionRequest(
                    entity: EntityNumber(numbers[0]),
                    object: ObjectID(high: numbers[1], low: numbers[2]),
                    slots: [Slot(numbers[3])]),
                through: Revision(numbers[4]))
        case ("copying", 3): self = .copying(words[2])
        case ("copied", 3): self = .copied(words[2])
        case ("migrated", 2): self = .migrated
        default:
            guard let secret = SecretPromise(words.dropFirst()) else { return nil }
            self = .secret(secret)
        }
    }

    /// The line that represents the promise.
    var line: String {
        switch self {
        case .committed(let acknowledgement): "\(acknowledgement)"
        case .refused(let token): "ack refused \(token)"
        case .trimming(let revision): "ack trimming \(revision)"
        case .trimmed(let revision): "ack trimmed \(revision)"
        case .redacted(let request, let revision):
            "ack redacted \(request.entity.rawValue) \(request.object.high) \(request.object.low) "
                + "\(request.slots[0].index) \(revision)"
        case .copying(let name): "ack copying \(name)"
        case .copied(let name): "ack copied \(name)"
        case .migrated: "ack migrated"
        case .secret(let promise): promise.line
        }
    }

    /// Returns the promises in a file of lines.
    static func read(_ path: String) throws -> [Promise] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap {
            Promise(String($0))
        }
    }
}

extension StoreFile {
    /// Returns a description of the first of `count` promises that the store does not keep; nil if
    /// it keeps all.
    func broken(_ promises: [Promise], count: Int, unsynced: Int) throws -> String? {
        let (head, floor) = try read { (try $0.head().revision, try $0.floor()) }
        var asked = Revision.zero
        for case .trimming(let revision) in promises { asked = max(asked, revision) }
        if floor > asked { return "trimmed up to \(floor), though \(asked) was asked for" }
        var lost: [Acknowledgement] = []
        var refused: Set<UInt64> = []
        for (index, promise) in promises.prefix(count).enumerated() {
            let isSynced = index < count - unsynced
            switch promise {
            // Only the last commits may be missing, and no other may be in their place.
            case .committed(let acknowledgement) where isSynced || acknowledgement.revision <= head:
                if try !hasCommit(acknowledgement, floor, head) { lost.append(acknowledgement) }
            case _ where !isSynced: break
            case .refused(let token): refused.insert(token)
            case .trimmed(let revision) where floor < revision:
                return "the trim up to \(revision) is lost; the journal begins after \(floor)"
            case .redacted(let request, let revision):
                // The earlier value may have been replaced since. One commit keeps it.
                let former = try values(of: request).filter { $0 <= revision }
                if former.count > 1 { return "redacted values are in commits \(former)" }
            case .migrated where schema.revision == 1: return "the migration is lost"
            case .committed, .trimming, .trimmed, .copying, .copied, .migrated, .secret: break
            }
        }
        if !lost.isEmpty { return "lost \(lost.count) of \(count): \(lost[0])" }
        return try isThere(refused, floor, head).map { "refused, and yet commit \($0)" }
    }

    private func hasCommit(
        _ acknowledgement: Acknowledgement, _ floor: Revision, _ head: Revision
    ) throws -> Bool {
        let revision = acknowledgement.revision
        guard revision <= head, revision > .zero else { return false }
        if revision <= floor { return true }
        return try read { try $0.commit(revision).id.token } == acknowledgement.token
    }

    /// Returns the commits from which a redaction would remove values.
    private func values(of request: RedactionRequest) throws -> [Revision] {
        do {
            return try redactionPlan(request).revisions
        } catch let error as StoreError where [.notFound, .valueInUse].contains(error.code) {
            return []
        }
    }

    /// Returns the revision of a commit with one of these tokens.
    private func isThere(
        _ tokens: Set<UInt64>, _ floor: Revision, _ head: Revision
    ) throws -> Revision? {
        if tokens.isEmpty { return nil }
        return try read { reader in
            var revision = floor
            while revision < head {
                revision = revision.next
                if tokens.contains(try reader.commit(revision).id.token) { return revision }
            }
            return nil
        }
    }
}
