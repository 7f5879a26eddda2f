import Glibc
import StetLMDB

extension StoreCreation {
    /// Gives a draft the contents of another store.
    ///
    /// The bytes of the file are copied without opening it: a seed may be in a read-only place.
    /// Concurrent writes to the seed are found as damage, because every page is inspected and the
    /// copy is verified before it gets its name.
    func copySeed(
        _ seed: String, to draft: Draft, isNode: Bool
    ) throws -> (store: ObjectID, head: Head) {
        try Self.copyFile(seed, to: draft.path, path)
        do {
            return try giveIdentity(draft.path, isNode)
        } catch let error as StoreError {
            // The error names the seed, not the draft.
            throw StoreError(
                error.code, path: seed, message: "The seed \(seed) can't be used: \(error.message)",
                advice: error.advice, systemCode: error.systemCode)
        }
    }

    private func giveIdentity(
        _ path: String, _ isNode: Bool
    ) throws -> (store: ObjectID, head: Head) {
        var configuration = StoreFile.Configuration()
        configuration.allowsUnsafePlace = true
        configuration.inspectsPages = true
        let file = try StoreFile.open(at: path, configuration)
        defer { file.close() }
        let comparison = try declared.comparison(with: file.schema)
        try comparison.refuseProblems(path)
        try comparison.refuseMissing(path)
        if let problem = try file.verify().problems.first {
            throw StoreError.damaged(problem, path: path)
        }
        return try StoreError.wrapping(path: path) {
            try file.environment.write { transaction in
                try StoreTables.putNewIdentity(in: transaction)
                // A seed may be the file of a node, and need not.
                try AttachedMark.put(isNode, in: transaction)
                return (
                    try StoreTables.identity(in: transaction.reading),
                    try Head.read(in: transaction.reading)
                )
            }
        }
    }

    /// Copies the bytes of a file that nobody writes to, and syncs the copy.
    static func copyFile(_ seed: String, to copy: String, _ path: String) throws {
        try StorePlace.checkName(seed)
        let source = open(seed, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw LMDBError(.openEnvironment, code: errno, path: seed) }
        defer { close(source) }
        let target = open(copy, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard target >= 0 else { throw LMDBError(.create, code: errno, path: path) }
        defer { close(target) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4_096)
        defer { buffer.deallocate() }
        while true {
            let count = read(source, buffer.baseAddress, buffer.count)
            if count == 0 { break }
            if count < 0 {
                if errno == EINTR { continue }
                throw LMDBError(.openEnvironment, code: errno, path: seed)
            }
            var rest = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            while !rest.isEmpty {
                let written = write(target, rest.baseAddress, rest.count)
                if written < 0, errno != EINTR {
                    throw LMDBError(.create, code: errno, path: path)
                }
                rest = UnsafeRawBufferPointer(rebasing: rest[max(written, 0)...])
            }
        }
        guard fsync(target) == 0 else { throw LMDBError(.create, code: errno, path: path) }
    }
}
