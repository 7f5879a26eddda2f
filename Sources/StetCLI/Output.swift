import Glibc
import StetStore

/// The output of a command: results on standard output, errors and progress on standard error, as
/// text or as JSON.
///
/// State: the bytes of standard output that are not written yet; one thread uses it.
final class Output {
    let isJSON: Bool
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private static let bufferByteCount = 1 << 16

    /// Creates an output that writes results to `descriptor`.
    init(isJSON: Bool, to descriptor: Int32 = STDOUT_FILENO) {
        self.isJSON = isJSON
        self.descriptor = descriptor
    }

    /// Writes a result in the requested form.
    ///
    /// - Throws: `Failure` when standard output cannot be written.
    func say(text: @autoclosure () -> String, json: @autoclosure () -> JSON) throws {
        try say(isJSON ? json().text : text())
    }

    /// Writes lines unchanged.
    func say(_ text: String) throws {
        buffer += text.utf8
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.bufferByteCount { try flush() }
    }

    /// Writes the buffered bytes.
    func flush() throws {
        let code = Self.write(buffer, to: descriptor)
        buffer.removeAll(keepingCapacity: true)
        guard code == 0 else {
            throw Failure(
                .inputOutputError, code: StoreError.Code.inputOutput.rawValue, path: nil,
                message: "The output can't be written: \(String(cString: strerror(code))).",
                advice: "Free space on the disk, or write to another place.")
        }
    }

    /// Writes an error to standard error.
    func complain(_ failure: Failure) {
        let text = [failure.message, failure.advice].filter { !$0.isEmpty }.joined(separator: " ")
        note(text: "stet: \(text.visible)", json: failure.json)
    }

    /// Writes a line to standard error.
    func note(text: String, json: JSON) {
        // Ignores the result: there is nowhere to report that standard error is closed.
        _ = Self.write(Array("\(isJSON ? json.text : text)\n".utf8), to: STDERR_FILENO)
    }

    /// Writes text to standard error, unchanged and without a line's end.
    func draw(_ text: String) { _ = Self.write(Array(text.utf8), to: STDERR_FILENO) }

    /// Writes how long a command took to standard error, if that is a terminal and the command was
    /// so slow that somebody has waited for it.
    func noteDuration(_ duration: Duration) {
        guard !isJSON, isatty(STDERR_FILENO) != 0, duration > .milliseconds(250) else { return }
        _ = Self.write(Array("took \(durationText(duration))\n".utf8), to: STDERR_FILENO)
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}
