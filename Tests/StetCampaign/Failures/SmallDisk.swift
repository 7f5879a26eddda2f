import Foundation
import Glibc
import StetTestSupport

/// A file system of a few megabytes in memory, which exists as long as the object.
final class SmallDisk {
    private let directory = TemporaryDirectory()
    private var isMounted = false

    /// The path of a file that occupies the space a session may not use, until it is removed.
    var filler: String { directory.file("filler") }
    /// The path of the store.
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

    /// Occupies all space except `byteCount` bytes.
    func fill(leaving byteCount: Int) throws {
        // Children of other cases must not inherit it, because they would keep the space in use.
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
