import Foundation
import StetFuzzing
import Testing

/// The inputs that the fuzzer has kept, decoded again without the fuzzer; `make fuzz` looks for
/// more.
struct FuzzCorpusTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("StetFuzz/Corpus").path

    private func outcomes(
        _ decoder: FuzzedDecoder, _ inputs: [(name: String, bytes: [UInt8])]
    ) throws -> [FuzzedDecoder.Outcome] {
        let fuzz = try Fuzz(decoder)
        return inputs.compactMap { input in
            do {
                return try input.bytes.withUnsafeBytes { try fuzz.decode($0) }
            } catch {
                Issue.record("\(decoder)/\(input.name): \(error)")
                return nil
            }
        }
    }

    @Test(arguments: FuzzedDecoder.allCases)
    func everyInputOfTheCorpusIsDecodedOrRefused(decoder: FuzzedDecoder) throws {
        let folder = "\(Self.folder)/\(decoder)"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        let inputs = try names.map { name in
            (name, Array(try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))))
        }
        let outcomes = try outcomes(decoder, inputs)
        #expect(outcomes.count == names.count)
        #expect(Set(outcomes) == [.decoded, .refused])
    }

    @Test(arguments: FuzzedDecoder.allCases)
    func whatEncodersWriteIsDecoded(decoder: FuzzedDecoder) throws {
        let seeds = try decoder.seeds().enumerated().map { ("seed \($0)", $1) }
        let outcomes = try outcomes(decoder, seeds)
        // Of the seeds for the store only the first leaves it undamaged.
        let decoded = decoder == .store ? outcomes.prefix(1) : outcomes[...]
        #expect(!decoded.isEmpty)
        #expect(decoded.allSatisfy { $0 == .decoded })
    }
}
