import Foundation
import StetTestSupport
import Testing

@testable import StetCLI

/// Comma-separated values: what is read of them, and that what is written is read as it was.
struct CSVTests {
    private let directory = TemporaryDirectory()

    private func rows(_ bytes: [UInt8]) throws -> [[CSVRow.Field]] {
        let path = directory.file("rows.csv")
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        var reader = try CSVReader(try FileBytes(path: path))
        var rows: [[CSVRow.Field]] = []
        while let (_, row) = try reader.next() { rows.append(row.fields) }
        return rows
    }

    @Test(arguments: [
        ("a,b\nc,d\n", [["a", "b"], ["c", "d"]]), ("a,b\r\nc,d", [["a", "b"], ["c", "d"]]),
        ("a,\n,\n", [["a", ""], ["", ""]]), ("a,", [["a", ""]]), ("\n\r\n\na\n\n", [["a"]]),
        ("\u{feff}a\n", [["a"]]), (" a , b ", [[" a ", " b "]]),
        ("\"a,\"\"b\"\"\r\nc\",d", [["a,\"b\"\r\nc", "d"]]), ("\"\",", [["", ""]]), ("", []),
        ("a,\u{301}b\u{2028}c", [["a", "\u{301}b\u{2028}c"]]),
    ])
    func rowsAreReadAsRFC4180Says(text: String, expected: [[String]]) throws {
        #expect(try rows(Array(text.utf8)).map { $0.map(\.text) } == expected)
    }

    @Test func whatIsWrittenIsReadAsItWas() throws {
        let pieces = ["", "a", ",", "\"", "\n", "\r\n", "\r", " ", "é", "\u{301}", "\0"]
        var generator = SeededGenerator(seed: 4_180)
        var written: [CSVRow] = []
        for _ in 0..<2_000 {
            let count = Int.random(in: 1...4, using: &generator)
            written.append(
                CSVRow(
                    fields: (0..<count).map { _ in
                        let text = (0..<Int.random(in: 0...3, using: &generator))
                            .map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
                        return CSVRow.Field(text)
                    }))
        }
        let text = written.map { $0.line + "\n" }.joined()
        let read = try rows(Array(text.utf8))
        #expect(
            read.map { $0.map { Array($0.text.utf8) } }
                == written.map { $0.fields.map { Array($0.text.utf8) } })
    }

    @Test func hostileBytesAreRowsOrAnError() throws {
        var generator = SeededGenerator(seed: 4_181)
        let bytes: [UInt8] = [0x22, 0x2c, 0x0a, 0x0d, 0x61, 0xff, 0xef, 0xbb, 0xbf]
        var failures = 0
        for _ in 0..<2_000 {
            let text = (0..<Int.random(in: 0...30, using: &generator)).map { _ in
                bytes.randomElement(using: &generator) ?? 0
            }
            do {
                let rows = try rows(text)
                #expect(rows.allSatisfy { !$0.isEmpty })
            } catch let error as ExchangeError {
                #expect(error.line >= 1)
                failures += 1
            }
        }
        #expect((1..<2_000).contains(failures))
    }
}
