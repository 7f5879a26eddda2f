/// The words by whose stems two versions of a stemmer differ: a stem with each ending of up
/// to three letters of the language's script, and with each beginning of up to two.
///
/// A change that affects only longer endings or single words shows in none of them.
struct SnowballProbe {
    /// A script: the letters of which the endings and beginnings consist, further letters that
    /// only endings of two have, and a word of several syllables.
    private struct Script {
        let letters: [ClosedRange<UInt32>]
        let others: [ClosedRange<UInt32>]
        let word: String
    }

    private let letters: [[UInt8]]
    private let others: [[UInt8]]
    private let word: [UInt8]

    init(_ algorithm: String) {
        let script = Self.scripts[algorithm] ?? Self.latin
        letters = Self.bytes(of: script.letters)
        others = Self.bytes(of: script.others)
        word = Array(script.word.utf8)
    }

    /// Returns a number of all stems, which `stem` passes to the closure.
    func version(
        _ stem: (UnsafeBufferPointer<UInt8>, (UnsafeBufferPointer<UInt8>) -> Void) -> Void
    ) -> UInt32 {
        // FNV-1a.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        func combine(_ bytes: UnsafeBufferPointer<UInt8>) {
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            hash = (hash ^ 0xff) &* 0x100_0000_01b3
        }
        forEachWord { $0.withUnsafeBufferPointer { stem($0, combine) } }
        return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
    }

    private func forEachWord(_ body: ([UInt8]) -> Void) {
        body(word)
        let all = letters + others
        for first in all {
            body(word + first)
            body(first + word)
            for second in all { body(word + first + second) }
        }
        for first in letters {
            for second in letters {
                let beginning = word + first + second
                body(first + second + word)
                for third in letters { body(beginning + third) }
            }
        }
    }

    private static func bytes(of ranges: [ClosedRange<UInt32>]) -> [[UInt8]] {
        ranges.joined().compactMap { Unicode.Scalar($0).map { Array(String($0).utf8) } }
    }

    // MARK: Scripts

    private static let latin = Script(
        letters: [0x27...0x27, 0x61...0x7a],
        others: [
            0xdf...0xf6, 0xf8...0xff, 0x101...0x107, 0x10d...0x11f, 0x131...0x131,
            0x142...0x151, 0x159...0x163, 0x169...0x17e, 0x219...0x21b,
        ],
        word: "batalom")
    private static let devanagari = Script(
        letters: [0x901...0x902, 0x906...0x90f, 0x928...0x930, 0x93e...0x94d],
        others: [0x915...0x927, 0x932...0x939], word: "कमलपटक")

    private static let scripts: [String: Script] = [
        "arabic": Script(
            letters: [0x621...0x63a, 0x641...0x64a], others: [0x64b...0x652], word: "كتبلم"),
        "armenian": Script(letters: [0x561...0x587], others: [], word: "բատալոմ"),
        "greek": Script(
            letters: [0x3b1...0x3c9], others: [0x390...0x390, 0x3ac...0x3b0, 0x3ca...0x3ce],
            word: "βαταλομ"),
        "hindi": devanagari,
        "nepali": devanagari,
        "russian": Script(
            letters: [0x430...0x44f], others: [0x450...0x45f], word: "баталом"),
        "serbian": Script(
            letters: [0x61...0x7a], others: [0x107...0x111, 0x161...0x17e, 0x430...0x45f],
            word: "batalom"),
        "tamil": Script(
            letters: [0xbbe...0xbcd], others: [0xb85...0xbb9], word: "கமலபடக"),
        "yiddish": Script(
            letters: [0x5d0...0x5ea], others: [0x5b0...0x5bf, 0x5f0...0x5f2], word: "באַטאַלם"),
    ]
}
