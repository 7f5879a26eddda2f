import Foundation
import StetContract

/// Runs `stet-contract MODE STEPS SEED [DIFFERENCES]`, which compares the library with its
/// reference for a number of steps, or until it has found a number of differences, 20 by default.
@main struct StetContractTool {
    @MainActor static func main() async throws {
        let arguments = CommandLine.arguments
        let names = ContractChecker.Mode.allCases.map(\.rawValue).joined(separator: "|")
        guard (4...5).contains(arguments.count), let size = Int(arguments[2]),
            let seed = UInt64(arguments[3]), let limit = Int(arguments.dropFirst(4).first ?? "20"),
            arguments[1] == "all" || ContractChecker.Mode(rawValue: arguments[1]) != nil
        else {
            FileHandle.standardError.write(
                Data("usage: stet-contract all|\(names) STEPS SEED [DIFFERENCES]\n".utf8))
            exit(64)
        }
        let modes =
            ContractChecker.Mode(rawValue: arguments[1]).map { [$0] }
            ?? ContractChecker.Mode.allCases
        var checker = ContractChecker()
        var next = seed
        var found = 0
        while checker.stepCount < size, found < limit {
            for mode in modes where found < limit {
                if let difference = try await checker.run(seed: next, mode) {
                    found += 1
                    FileHandle.standardOutput.write(Data("\(difference)\n\n".utf8))
                }
            }
            next += 1
        }
        let counts = checker.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        let report = """
            contract: \(checker.stepCount) steps of \(next - seed) seeds from \(seed), \
            \(found) differences
              \(counts.joined(separator: ", "))

            """
        FileHandle.standardOutput.write(Data(report.utf8))
        exit(found == 0 ? 0 : 1)
    }
}
