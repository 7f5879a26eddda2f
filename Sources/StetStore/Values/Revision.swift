/// The number of a commit: 1 for the first, without gaps; 0 is the empty store.
public struct Revision: Hashable, Comparable, Sendable {
    /// The number itself.
    public let number: UInt64

    /// The revision with this number.
    @inlinable
    public init(_ number: UInt64) {
        self.number = number
    }

    /// The store before its first commit.
    public static let zero = Revision(0)

    /// Whatever the first commit is that the journal still has, where a range of revisions is asked
    /// for.
    public static let first = Revision(0)

    /// Whatever the last commit is, where a range of revisions is asked for.
    public static let last = Revision(.max)

    /// The revision after this one.
    package var next: Revision { Revision(number + 1) }

    /// The revision before this one; 0 has none.
    package var previous: Revision? { number == 0 ? nil : Revision(number - 1) }

    /// The order of the commits.
    public static func < (one: Revision, other: Revision) -> Bool {
        one.number < other.number
    }
}

extension Revision: CustomStringConvertible, ExpressibleByIntegerLiteral, Codable {
    /// The number.
    public var description: String { "\(number)" }

    /// The revision with this number.
    public init(integerLiteral value: UInt64) {
        self.init(value)
    }

    /// Reads the number.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(UInt64.self))
    }

    /// Writes the number.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(number)
    }
}

/// The identity of a commit, known before it is written: by it a commit whose outcome was not
/// reported can be looked up, from its base revision forward.
public struct CommitID: Hashable, Sendable, Codable {
    /// The store that the commit was made for.
    public let store: ObjectID
    /// The revision that the change set was prepared at; the commit's own revision is greater.
    public let base: Revision
    /// 40 random bits, and above them 24 bits of the hash of the commit at `base`: a store that has
    /// another commit there has another history.
    public let token: UInt64

    package init(store: ObjectID, base: Revision, token: UInt64) {
        self.store = store
        self.base = base
        self.token = token
    }
}
