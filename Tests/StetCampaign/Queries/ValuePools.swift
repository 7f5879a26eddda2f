import Foundation
import StetStore

/// The values of objects and constants: few enough to coincide, and each a known source of errors.
enum ValuePools {
    static let integers: [Int] = [.min, .min + 1, -3, -1, 0, 1, 2, 3, 1_000, .max - 1, .max]
    static let smallIntegers: [Int] = [-128, -1, 0, 1, 2, 127]
    static let naturals: [UInt64] = [0, 1, 2, 1 << 63, .max]
    static let reals: [Double] = [
        -.infinity, -1e300, -1.5, -.leastNonzeroMagnitude, -0.0, 0.0, .leastNonzeroMagnitude, 0.5,
        1, 2, .greatestFiniteMagnitude, .infinity, .nan, -.nan,
    ]
    static let floats: [Float] = [
        -.infinity, -1.5, -0.0, 0.0, .leastNonzeroMagnitude, 0.1, 1, .infinity, .nan, -.nan,
    ]
    static let decimals: [Decimal] = [
        Decimal(-1.5), Decimal(0), Decimal(sign: .plus, exponent: -1, significand: 1),
        Decimal(sign: .plus, exponent: -2, significand: 10), Decimal(3), Decimal(30),
        Decimal(sign: .plus, exponent: 20, significand: 1), Decimal(-2), .nan,
        .greatestFiniteMagnitude,
    ]
    static let dates: [Date] = [-1e9, -1, -0.0, 0, 0.25, 1, 1e9, .infinity, .nan].map {
        Date(timeIntervalSinceReferenceDate: $0)
    }
    static let uuids: [UUID] = [
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)),
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0)),
        UUID(uuid: (127, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
        UUID(uuid: (128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
    ]
    static let urls: [URL] = [
        URL(string: "http://a/"), URL(string: "http://a/b"),
        URL(string: "b", relativeTo: URL(string: "http://a/")), URL(string: "http://a/c"),
        URL(string: "mailto:x"),
    ].compactMap(\.self)

    private static let long = String(repeating: "x", count: 600)
    private static let family = "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}"

    /// Texts longer than an entry of an index that are equal up to its length, and texts of that
    /// length.
    private static let longTexts =
        [long, long + "a", long + "b", long + "\u{e9}", long + "e\u{301}", long + "A"]
        + (488...494).map { String(repeating: "y", count: $0) }
    private static let accents = [
        "e", "e\u{301}", "\u{e9}", "E\u{301}te", "\u{e9}t\u{e9}", "\u{212B}", "\u{c5}", "A\u{30a}",
        "i\u{307}", "\u{130}", "q\u{323}\u{307}", "q\u{307}\u{323}", "\u{3a3}\u{391}\u{3a3}",
        "\u{3c3}\u{3b1}\u{3c2}", "stra\u{df}e", "STRASSE", "\u{d55c}", "\u{1112}\u{1161}\u{11ab}",
        "\u{1112}\u{1161}", "\u{915}\u{94d}\u{937}", "\u{301}", "\u{1e9e}", "\u{fb01}x",
    ]
    private static let joined = [
        "\r\n", "\r", "\n", "a\r", "a\r\nb", "a\u{0}b", "a\u{0}", "\u{0}", "\u{0}\u{0}", family,
        "\u{1F468}", "\u{1F1E9}\u{1F1EA}", "\u{1F1E9}\u{1F1EA}\u{1F1EB}\u{1F1F7}", "\u{1F1E9}",
        "\u{ffff}", "\u{10ffff}", family + "a",
    ]
    static let names = ["", "one", "One", "two", "th\u{e9}", "the\u{301}", "three", long + "a"]
    static let texts =
        ["", "a", "A", "ab", "aB", "abc", "Abc", "b", "z"] + names + accents + joined + longTexts
    static let largeData = LargeContents.few.compactMap { value -> Data? in
        if case .data(let stored) = value { return stored }
        return nil
    }

    static let data: [Data] = [
        Data(), Data([0]), Data([0, 0]), Data([0, 255]), Data([1]), Data([255]),
        Data(repeating: 7, count: 600), Data(repeating: 7, count: 600) + [1],
        Data(repeating: 0, count: 300), Data(repeating: 0, count: 301),
    ]
    static let lists: [[String]] = [
        [], ["a"], ["a", "b"], ["e\u{301}"], ["\u{e9}"], ["a\u{0}"], [""], ["", ""], [long + "a"],
        [long + "b"], ["b"],
    ]
}
