import BareLMDB
import FoundationEssentials

/// The values from which one article is made.
struct Sample {
    /// 20 bytes.
    var title: String
    /// 200 bytes.
    let body: String
    var rating: Int
    let created: Date
    /// The position of its notebook.
    let notebook: Int
}

/// Seeded articles, made before anything is timed: for Stet as values, for C as structs with the
/// same bytes.
final class Samples {
    static let notebookCount = 1_000
    private static let titleByteCount = 20
    private static let bodyByteCount = 200

    let values: [Sample]
    /// Points into `texts`.
    let bare: UnsafeMutableBufferPointer<BareArticle>
    private let texts: UnsafeMutablePointer<UInt8>

    init(count: Int) {
        let stride = Self.titleByteCount + Self.bodyByteCount
        texts = .allocate(capacity: count * stride)
        bare = .allocate(capacity: count)
        var random = SplitMix64(state: 1)
        var values: [Sample] = []
        values.reserveCapacity(count)
        for index in 0..<count {
            let title = UnsafeMutableBufferPointer(
                start: texts + index * stride, count: Self.titleByteCount)
            let body = UnsafeMutableBufferPointer(
                start: texts + index * stride + Self.titleByteCount, count: Self.bodyByteCount)
            Self.fill(title, &random)
            Self.fill(body, &random)
            let sample = Sample(
                title: String(decoding: title, as: UTF8.self),
                body: String(decoding: body, as: UTF8.self),
                rating: Int(random.next() % 6),
                created: Date(timeIntervalSinceReferenceDate: 800_000_000 + Double(index)),
                notebook: Int(random.next() % UInt64(Self.notebookCount)))
            bare.initializeElement(at: index, to: BareArticle(sample, title, body))
            values.append(sample)
        }
        self.values = values
    }

    deinit {
        bare.deallocate()
        texts.deallocate()
    }

    /// Words of lower-case letters; the first and the last byte are letters, so that trimming
    /// changes nothing.
    private static func fill(
        _ text: UnsafeMutableBufferPointer<UInt8>, _ random: inout SplitMix64
    ) {
        for index in text.indices {
            let number = random.next() % 32
            let isInside = index > 0 && index < text.count - 1
            text[index] = number < 26 || !isInside ? UInt8(97 + number % 26) : 32
        }
    }
}

extension BareArticle {
    fileprivate init(
        _ sample: Sample, _ title: UnsafeMutableBufferPointer<UInt8>,
        _ body: UnsafeMutableBufferPointer<UInt8>
    ) {
        self.init(
            title: UnsafeRawPointer(title.baseAddress!).assumingMemoryBound(to: CChar.self),
            body: UnsafeRawPointer(body.baseAddress!).assumingMemoryBound(to: CChar.self),
            title_count: UInt32(title.count), body_count: UInt32(body.count),
            rating: Int64(sample.rating), created: sample.created.timeIntervalSinceReferenceDate,
            notebook: UInt32(sample.notebook))
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers in every run.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}
