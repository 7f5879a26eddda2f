import Foundation
import Glibc
import StetMachines

/// The file of a node's events; what was written stays when the process is killed.
final class Recorder: Sendable {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw MachineFailure("\(path) cannot be written") }
    }

    func note(_ event: Event) throws {
        var line = try JSONEncoder().encode(event)
        line.append(UInt8(ascii: "\n"))
        // One call writes a line as a whole.
        let count = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard count == line.count else { throw MachineFailure("an event cannot be written") }
    }

    static func events(_ path: String) throws -> [Event] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try Data(contentsOf: URL(fileURLWithPath: path)).split(separator: 10)
            .map { try JSONDecoder().decode(Event.self, from: $0) }
    }
}
