import BareLMDB
import Stet

/// Titles that were read in an order.
struct TitlesInOrder: Equatable {
    var count = 0
    /// FNV-1a.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325

    @inline(__always)
    mutating func add(_ title: String) {
        count += 1
        for byte in title.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    init(count: Int, hash: UInt64) {
        self.count = count
        self.hash = hash
    }

    init() {}
}

/// The totals that a program has read, to be compared with the expected ones.
struct Totals: Equatable {
    var count = 0
    var titleByteCount = 0
    var bodyByteCount = 0
    var ratingSum = 0
    var createdSum = 0
    /// Over all properties of all objects, in any order; 0 unless it was asked for.
    var hash: UInt64 = 0

    init() {}

    init(_ totals: BareTotals) {
        count = Int(totals.count)
        titleByteCount = Int(totals.title_byte_count)
        bodyByteCount = Int(totals.body_byte_count)
        ratingSum = Int(totals.rating_sum)
        createdSum = Int(totals.created_sum)
        hash = totals.hash
    }

    init(_ samples: some Sequence<Sample>) {
        for sample in samples {
            count += 1
            titleByteCount += sample.title.utf8.count
            bodyByteCount += sample.body.utf8.count
            ratingSum += sample.rating
            createdSum += Int(sample.created.timeIntervalSinceReferenceDate)
        }
    }

    /// The totals of a read of two properties.
    var ofTwoProperties: Totals {
        var totals = Totals()
        (totals.count, totals.titleByteCount, totals.ratingSum) = (count, titleByteCount, ratingSum)
        return totals
    }

    /// The totals of a walk over all titles.
    var ofTitles: Totals {
        var totals = Totals()
        (totals.count, totals.titleByteCount) = (count, titleByteCount)
        return totals
    }

    @inline(__always)
    mutating func add(title: String) {
        count += 1
        titleByteCount += title.utf8.count
    }

    /// Reads two properties.
    @inline(__always)
    mutating func add(_ article: Article) {
        count += 1
        titleByteCount += article.title.utf8.count
        ratingSum += article.rating
    }

    /// Reads all attributes.
    @inline(__always)
    mutating func addAll(_ article: Article?) {
        guard let article else { return }
        add(article)
        bodyByteCount += article.body.utf8.count
        createdSum += Int(article.created.timeIntervalSinceReferenceDate)
    }

    mutating func addHash(of sample: Sample) {
        addHash(
            title: sample.title, body: sample.body, rating: sample.rating,
            created: sample.created.timeIntervalSinceReferenceDate, notebook: sample.notebook)
    }

    /// FNV-1a over all properties, times the notebook; a sum, because the programs' articles are in
    /// different orders once many writers have written.
    mutating func addHash(
        title: String, body: String, rating: Int, created: Double, notebook: Int
    ) {
        var value: UInt64 = 0xcbf2_9ce4_8422_2325
        func mix(_ word: UInt64) { value = (value ^ word) &* 0x100_0000_01b3 }
        for byte in title.utf8 { mix(UInt64(byte)) }
        for byte in body.utf8 { mix(UInt64(byte)) }
        mix(UInt64(bitPattern: Int64(rating)))
        mix(UInt64(bitPattern: Int64(created)))
        hash &+= value &* UInt64(notebook + 1)
    }
}
