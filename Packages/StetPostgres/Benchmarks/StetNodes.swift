import Foundation
import Glibc
import StetMachines

/// Measures nodes of a shared journal in a PostgreSQL server of its own, whose commits wait for the
/// disk, beside what they are made of and beside a plain SQL service that does the same updates.
///
///     stet-nodes [--seconds 5] [--rounds 3]
@main enum StetNodes {
    static func main() {
        let options = Array(CommandLine.arguments.dropFirst())
        func value(_ name: String, _ other: Int) -> Int {
            options.firstIndex(of: name).flatMap { index in
                options.indices.contains(index + 1) ? Int(options[index + 1]) : nil
            } ?? other
        }
        do {
            let server = try PostgresServer(isDurable: true)
            defer { server.remove() }
            let bench = try NodeBenchmark(
                server, seconds: value("--seconds", 5), rounds: value("--rounds", 3))
            defer { bench.remove() }
            try bench.run()
        } catch {
            FileHandle.standardError.write(Data("stet-nodes: \(error)\n".utf8))
            exit(1)
        }
    }
}
