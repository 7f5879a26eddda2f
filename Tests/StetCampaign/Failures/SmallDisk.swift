import Foundation
import Glibc
import StetTestSupport

/// A file system of a few megabytes in memory; gone with the value.
final class SmallDisk {
    private let directory = TemporaryDirectory()
    private var isMounted = false

    /// What takes the room that a session may not have, until it is removed.
    var filler: String { directory.file("filler") }
    /// The store.
    var path: String { directory.file() }

    private static let limit = Duration.seconds(20)

    init(byteCount: Int) throws {
        let options = ["-t", "tmpfs", "-o", "size=\(byteCount)", "stet", directory.path]
        let child = try? Child(options, program: "mount")
        guard child?.end(within: Self.limit) == .exited(0) else {
            throw NotPossibleHere(reason: "mounting a file system in memory needs root")
        }
        isMounted = true
    }

    deinit {
        guard isMounted else { return }
        _ = try? Child(["-l", directory.path], program: "umount").end(within: Self.limit)
    }

    /// Takes all of the room but `byteCount` bytes.
    func fill(leaving byteCount: Int) throws {
        // Not inherited by the children of other cases, which would keep its room taken.
        let descriptor = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CampaignFailure("the disk cannot be filled") }
        defer { close(descriptor) }
        let page = [UInt8](repeating: 0, count: 4_096)
        var count = 0
        while write(descriptor, page, page.count) == page.count { count += page.count }
        guard ftruncate(descriptor, max(count - byteCount, 0)) == 0 else {
            throw CampaignFailure("the disk cannot be filled but for \(byteCount) bytes")
        }
    }
}
