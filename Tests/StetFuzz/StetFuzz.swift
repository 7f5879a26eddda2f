import CLibFuzzer
import FoundationEssentials
import Glibc
import StetFuzzing

/// libFuzzer on the decoder that the variable `STET_FUZZ` names; its arguments are libFuzzer's.
///
/// Not an argument, because libFuzzer starts itself anew with those it knows.
@main
enum StetFuzz {
    private static let decoder = ProcessInfo.processInfo.environment["STET_FUZZ"]
        .flatMap(FuzzedDecoder.init)

    private static let fuzz = decoder.flatMap { try? Fuzz($0) }

    static func main() throws {
        guard let decoder, fuzz != nil else {
            let names = FuzzedDecoder.allCases.map(\.rawValue).joined(separator: "|")
            end("usage: STET_FUZZ=\(names) stet-fuzz CORPUS...")
        }
        let corpora = CommandLine.arguments.dropFirst().filter { !$0.hasPrefix("-") }
        // Of several corpora the first receives new inputs, and may be empty on purpose.
        if corpora.count == 1 { try write(decoder.seeds(), to: corpora[0]) }
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(
            LLVMFuzzerRunDriver(&count, &arguments) { data, size in
                StetFuzz.decode(UnsafeRawBufferPointer(start: data, count: size))
            })
    }

    /// Begins a corpus that has no input yet.
    private static func write(_ seeds: [[UInt8]], to corpus: String) throws {
        // libFuzzer also accepts files, which are not directories.
        let present = try? FileManager.default.contentsOfDirectory(atPath: corpus)
        guard let present, present.isEmpty else { return }
        for (number, seed) in seeds.enumerated() {
            try Data(seed).write(to: URL(fileURLWithPath: "\(corpus)/seed-\(number)"))
        }
    }

    private static func decode(_ input: UnsafeRawBufferPointer) -> Int32 {
        do { _ = try fuzz?.decode(input) } catch { end("\(error)", abort) }
        return 0
    }

    private static func end(_ text: String, _ end: () -> Never = { exit(2) }) -> Never {
        _ = "\(text)\n".withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
        end()
    }
}
