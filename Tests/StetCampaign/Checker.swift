import ArgumentParser
import Foundation
import StetLMDB
import StetStore

/// The child that examines stores, which may be damaged and may kill it.
struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Inspects, reads and verifies stores, and writes a line of JSON for each.")

    @Argument(
        help: """
            For each store its path, a file of promises, how many of them count, how many of these \
            a power cut may have taken, and a schema.
            """)
    var stores: [String]

    func run() throws {
        let encoder = JSONEncoder()
        for start in stride(from: 0, to: stores.count - 4, by: 5) {
            let answer = Self.answer(
                stores[start], promises: stores[start + 1], Int(stores[start + 2]) ?? 0,
                unsynced: Int(stores[start + 3]) ?? 0,
                CheckedSchema(rawValue: stores[start + 4]) ?? .campaign)
            say(String(decoding: try encoder.encode(answer), as: UTF8.self))
        }
    }

    private static func answer(
        _ path: String, promises: String, _ count: Int, unsynced: Int, _ schema: CheckedSchema
    ) -> Answer {
        var answer = Answer(stage: .inspect)
        do {
            // Its pages can be judged only after its log has restored them.
            if LogMark.read(path: path) != nil { try schema.open(path).close() }
            let inspection = try StoreInspection.inspect(path)
            if inspection.isDamaged {
                answer.problem = inspection.damages.prefix(3).joined(separator: "; ")
                return answer
            }
            answer.stage = .open
            let file = try schema.open(path)
            defer { file.close() }
            answer.stage = .read
            answer.state = try file.stateDigest()
            answer.stage = .verify
            let report = try file.verify()
            answer.revision = report.revision.number
            answer.hash = report.hash
            if !report.isClean {
                answer.problem = report.problems.prefix(3).joined(separator: "; ")
                return answer
            }
            _ = try file.read { try $0.comparedLinks(asOf: .max) }
            answer.stage = .acknowledgements
            let promises = count > 0 ? try Promise.read(promises) : []
            answer.problem = try file.broken(promises, count: count, unsynced: unsynced)
            if answer.problem != nil { return answer }
            answer.stage = .readers
            // Opening has removed the slots of dead processes.
            let stale = try file.environment.removeStaleReaders()
            if stale > 0 {
                answer.problem = "\(stale) readers of dead processes"
                return answer
            }
            file.close()
            answer.stage = .models
            answer.problem = try schema.problem(
                path, promises.prefix(count), unsynced: unsynced)
        } catch let error as StoreError where error.code == .notSynced {
            // Refuses it as a whole, as `none` promises.
            if Durability.usual != .none { answer.problem = "\(error)" }
        } catch {
            answer.problem = "\(error)"
        }
        return answer
    }
}

/// The result of the checker for one store.
struct Answer: Codable, Hashable {
    /// The steps of the checker, in order.
    enum Stage: String, Codable {
        case inspect, open, read, verify, acknowledgements, readers, models
    }

    /// The step at which the checker stopped; the last one if nothing is wrong.
    var stage: Stage
    /// A description of the problem; nil if there is none.
    var problem: String?
    var revision: UInt64?
    /// The hash of the last entry of the journal.
    var hash: String?
    /// A digest of the store's identity and of all objects as users see them.
    var state: UInt64?

    /// A short description of the contents of the store.
    var contents: String {
        let digest = String(state ?? 0, radix: 16)
        return "revision \(revision ?? 0), hash \(hash?.prefix(8) ?? "-"), state \(digest)"
    }
}

/// The models with which a checker opens a store.
enum CheckedSchema: String, ExpressibleByArgument {
    /// The models of the campaigns.
    case campaign
    /// The models that the store has; then, if it has not been migrated yet, the later ones.
    case withIndex, people
    /// The models of a diary, which has sealed values.
    case secrets
    /// The models of the campaigns, of a store whose unused large data is removed.
    case sweeps

    func open(_ path: String) throws -> StoreFile {
        switch self {
        case .campaign, .sweeps: try StoreFile.open(at: path, schema: .campaign)
        case .withIndex, .people, .secrets: try StoreFile.open(at: path)
        }
    }

    /// Examines the store with its models, or migrates it to the later ones, and returns a
    /// description of a problem; nil if there is none.
    func problem(
        _ path: String, _ promises: some Collection<Promise>, unsynced: Int
    ) throws -> String? {
        switch self {
        case .campaign: return nil
        case .sweeps: return try SweepCheck.problem(path)
        case .secrets:
            let ledger = SecretLedger(promises, unsynced: unsynced)
            return try SecretCheck(path: path, ledger: ledger).problem()
        case .people: return try People.problem(ofStoreAt: path)
        case .withIndex:
            let file = try StoreFile.open(at: path, schema: .campaignWithIndex)
            defer { file.close() }
            return try file.verify().problems.first
        }
    }
}

extension StoreFile {
    /// Returns a digest of the store's identity and of every object and its members at each end, as
    /// readers see them.
    func stateDigest() throws -> UInt64 {
        var digest = Checksum.combine(0, storeID.high, storeID.low)
        try read { reader in
            let revision = try reader.head().revision
            for entity in schema.entities.numbers {
                try reader.forEachRecord(ofEntity: entity, asOf: revision) { id, record in
                    digest = Checksum.combine(digest, id.high, id.low)
                    digest = Checksum.combine(
                        digest, UInt64(entity.rawValue), record.revision.number)
                    digest = Checksum.hash(record.body, seed: digest)
                    for end in schema.ends(ofOwner: entity) {
                        try reader.forEachMember(of: id, at: end) { member, position in
                            digest = Checksum.combine(digest, member.high, member.low)
                            digest = (position?.bytes ?? []).withUnsafeBytes {
                                Checksum.hash($0, seed: digest)
                            }
                            return true
                        }
                    }
                    return true
                }
            }
        }
        return digest
    }
}
