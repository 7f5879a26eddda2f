import Foundation
import Stet
import StetLMDB
import StetStore

/// Examines a store of sealed values, its key file and the bytes of both.
struct SecretCheck {
    let path: String
    let ledger: SecretLedger

    /// Returns a description of a problem; nil if there is none.
    ///
    /// Seals all values anew in the end, as the next process would.
    func problem() throws -> String? {
        let keyPath = Diary.keyPath(path)
        guard FileManager.default.fileExists(atPath: keyPath) else { return "no key file" }
        if let problem = try KeyFileBytes(keyPath).problem { return problem }
        let keys = try KeyFile.open(existing: keyPath, Diary.provider)
        let store = try Diary.open(path, keys)
        defer { store.close() }
        // Opening the file has completed destructions.
        if let problem = try problemOfBytes() ?? ledger.problem(store, keys) { return problem }
        return try sealAnew(store, keys) ?? ledger.problem(store, keys) ?? problemOfBytes()
    }

    /// Returns the first file that contains plaintext or a destroyed key.
    private func problemOfBytes() throws -> String? {
        let keyFile = try KeyFileBytes(Diary.keyPath(path))
        if let owner = keyFile.ownerOfKey(among: ledger.destroyed) {
            return "the key file has a key of \(owner), which was destroyed"
        }
        let mark = Data(Diary.mark.utf8)
        let folder = (path as NSString).deletingLastPathComponent
        let name = (path as NSString).lastPathComponent
        for file in try FileManager.default.contentsOfDirectory(atPath: folder)
        where file.hasPrefix(name) {
            let url = URL(fileURLWithPath: "\(folder)/\(file)")
            if try Data(contentsOf: url, options: .alwaysMapped).range(of: mark) != nil {
                return "\(file) contains plaintext"
            }
        }
        return nil
    }

    private func sealAnew(_ store: Store, _ keys: KeyFile) throws -> String? {
        for notebook in try store.context().fetch(Diary.Notebook.self).snapshots()
        where !notebook.name.isErased {
            _ = try waiting { try await store.sealAnew(by: notebook.id) }
        }
        for article in try store.context().fetch(Diary.Article.self).snapshots() {
            guard let text = article.text, !text.isErased, let stored = text.stored,
                let owner = stored.place?.owner
            else { continue }
            let version = try keys.presentVersion(of: owner)
            if stored.keyVersion != version {
                return "article \(article.label) was not sealed anew by \(version ?? 0)"
            }
        }
        return try store.verify().problems.first
    }
}

/// The bytes of a key file, as docs/FileFormat.md describes them.
private struct KeyFileBytes {
    private static let headerByteCount = 2_048
    private static let slotByteCount = 128

    private let bytes: [UInt8]

    init(_ path: String) throws {
        bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    private var slots: [ArraySlice<UInt8>] {
        stride(
            from: 2 * Self.headerByteCount, through: bytes.count - Self.slotByteCount,
            by: Self.slotByteCount
        ).map { bytes[$0..<$0 + Self.slotByteCount] }
    }

    /// A description of what is torn; nil if nothing is.
    ///
    /// A power cut may leave zeros for keys that were not acknowledged, and one of two headers.
    var problem: String? {
        let headers = [0, Self.headerByteCount].compactMap { start in
            bytes.count >= start + Self.headerByteCount
                ? bytes[start..<start + Self.headerByteCount] : nil
        }
        if !headers.contains(where: Self.isWhole) { return "the key file has no whole header" }
        let torn = slots.count { slot in
            !Self.isWhole(slot) && slot.contains { $0 != 0 }
        }
        return torn == 0 ? nil : "\(torn) keys of the key file are torn"
    }

    private static func isWhole(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.withUnsafeBytes { bytes in
            let end = bytes.count - 8
            return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: end, as: UInt64.self))
                == Checksum.hash(UnsafeRawBufferPointer(rebasing: bytes[..<end]), seed: 0)
        }
    }

    /// Returns one of these objects, or of those with a key that was destroyed, which has a key in
    /// the file.
    func ownerOfKey(among owners: Set<ObjectID>) -> ObjectID? {
        var destroyed = owners
        for slot in slots where slot.first == 2 { destroyed.insert(Self.owner(slot)) }
        return slots.filter { $0.first == 1 }.map(Self.owner).first(where: destroyed.contains)
    }

    private static func owner(_ slot: ArraySlice<UInt8>) -> ObjectID {
        var uuid = UUID().uuid
        withUnsafeMutableBytes(of: &uuid) { $0.copyBytes(from: slot.dropFirst().prefix(16)) }
        return ObjectID(UUID(uuid: uuid))
    }
}
