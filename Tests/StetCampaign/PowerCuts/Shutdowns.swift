import ArgumentParser
import Foundation
import Glibc
import StetTestSupport

/// Shuts a file system down under writers, as a power cut would; each case is one cut.
struct Shutdowns: Campaign {
    static let configuration = CommandConfiguration(
        abstract: "Shuts an ext4 file system down under writers SIZE times; needs root.")

    @OptionGroup var options: CampaignOptions

    /// The number of cuts for which one store is used.
    private static let cutsPerStore = 20

    func run(_ report: Report) throws {
        guard geteuid() == 0 else { throw NotPossibleHere(reason: "only root may mount") }
        let storeCount = (options.size + Self.cutsPerStore - 1) / Self.cutsPerStore
        try forEachCase(of: storeCount, report) { index in
            let volume = try Volume()
            var session = Session(volume, seed: options.seed, index: index)
            let quota = min(Self.cutsPerStore, options.size - index * Self.cutsPerStore)
            for _ in 0..<quota {
                guard report.wantsMore else { break }
                let problem = try session.cut()
                report.count("cuts")
                guard let problem else { continue }
                report.finding(index, problem, files: [session.path, session.log.path])
                break
            }
            report.count("stores")
            report.count("acknowledged commits", session.log.count)
        }
    }
}

/// A store on a volume that is repeatedly shut down.
private struct Session {
    let path: String
    /// The promises, on another file system.
    private(set) var log: AcknowledgementLog
    private let volume: Volume
    private let seed: UInt64
    private var random: SeededGenerator
    private var stream = 0

    init(_ volume: Volume, seed: UInt64, index: Int) {
        self.volume = volume
        self.seed = seed &+ UInt64(index)
        random = SeededGenerator(seed: seed, stream: index)
        path = "\(volume.mountPoint)/test.stet"
        log = AcknowledgementLog(path: "\(volume.directory.path)/acknowledgements")
    }

    /// Lets writers work, shuts the file system down, and returns a description of a problem in the
    /// store.
    mutating func cut() throws -> String? {
        let writers = try (0..<Int.random(in: 1...2, using: &random)).map { _ in
            stream += 1
            let savers = ["1", "1", "4"].randomElement(using: &random) ?? "1"
            return try Child([
                "write", path, "--seed", "\(seed)", "--stream", "\(stream)", "--savers", savers,
            ])
        }
        let time = Int.random(in: 10...250, using: &random)
        Child.read(writers, until: ContinuousClock.now + .milliseconds(time))
        try volume.shutDown()
        for writer in writers {
            writer.kill()
            _ = writer.end(within: .seconds(20))
            // Writers that outlive the cut may report that the disk is gone.
            try log.append(writer.lines.filter { !$0.hasPrefix("error:") })
        }
        try volume.mountAgain()
        guard FileManager.default.fileExists(atPath: path) else {
            return log.count == 0 ? nil : "the store is gone"
        }
        let request = CheckRequest(path: path, acknowledgements: (log.path, log.count))
        return try answers(to: [request])[0].problem
    }
}

/// An ext4 file system in a file, mounted as long as the object exists.
private final class Volume: Sendable {
    let directory = TemporaryDirectory()
    var mountPoint: String { "\(directory.path)/volume" }
    private var image: String { "\(directory.path)/image" }

    init() throws {
        try FileManager.default.createDirectory(
            atPath: mountPoint, withIntermediateDirectories: true)
        try Self.run("truncate", "-s", "256M", image)
        try Self.run("mkfs.ext4", "-q", "-F", image)
        try mount()
    }

    deinit { try? unmount() }

    /// Prevents anything from reaching the image from now on: neither data nor the journal of the
    /// file system.
    func shutDown() throws {
        let descriptor = open(mountPoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(descriptor) }
        // EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH.
        var flags: UInt32 = 2
        guard descriptor >= 0, ioctl(descriptor, 0x8004_587d, &flags) == 0 else {
            throw NotPossibleHere(reason: "ext4 can't be shut down (errno \(errno))")
        }
    }

    /// Discards everything in memory, and replays the journal of the file system.
    func mountAgain() throws {
        try unmount()
        try mount()
    }

    private func mount() throws { try Self.run("mount", "-o", "loop", image, mountPoint) }

    private func unmount() throws { try Self.run("umount", mountPoint) }

    private static func run(_ words: String...) throws {
        let command = words.joined(separator: " ")
        guard let child = try? Child(Array(words[1...]), program: words[0]),
            child.end(within: .seconds(60)) == .exited(0)
        else { throw NotPossibleHere(reason: "\"\(command)\" failed") }
    }
}
