import Foundation
import StetStore

/// A writer's statement that a commit has returned.
struct Acknowledgement: Hashable, CustomStringConvertible {
    let revision: Revision
    let token: UInt64

    init(revision: Revision, token: UInt64) {
        self.revision = revision
        self.token = token
    }

    /// Reads `ack REVISION TOKEN`; nil for anything else.
    init?(_ line: String) {
        let words = line.split(whereSeparator: \.isWhitespace)
        guard words.count == 3, words[0] == "ack", let revision = UInt64(words[1]),
            let token = UInt64(words[2], radix: 16)
        else { return nil }
        self.init(revision: Revision(revision), token: token)
    }

    var description: String { "ack \(revision) \(String(token, radix: 16))" }
}

/// A file with every promise that the writers of a store have reported, for the checker.
struct AcknowledgementLog {
    let path: String
    /// The number of its lines.
    private(set) var count = 0

    init(path: String) { self.path = path }

    /// Adds the lines of writers.
    ///
    /// - Throws: `CampaignFailure` if a line is not a promise: a writer has failed.
    mutating func append(_ lines: [String]) throws {
        if let other = lines.first(where: { Promise($0) == nil }) {
            throw CampaignFailure("a writer said: \(other)")
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: Data(lines.map { "\($0)\n" }.joined().utf8))
        count += lines.count
    }
}
