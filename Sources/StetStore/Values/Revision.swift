/// The number of a commit: 1 for the first, without gaps; 0 is the empty store.
public struct Revision: Hashable, Comparable, Sendable {
    /// The number of the commit.
    public let number: UInt64

    /// Creates the revision with a number.
    @inlinable
    public init(_ number: UInt64) {
        self.number = number
    }

    /// The revision of the store before its first commit.
    public static let zero = Revision(0)

    /// The last revision that a store can have: an object of a context keeps 48 bits of its own.
    package static var last: Revision { Revision(1 << 48 - 1) }

    /// A revision that no store reaches.
    package static let max = Revision(.max)

    /// The revision after this one.
    package var next: Revision { Revision(number + 1) }

    /// The revision before this one; 0 has none.
    package var previous: Revision? { number == 0 ? nil : Revision(number - 1) }

    /// Compares two revisions by the order of their commits.
    public static func < (one: Revision, other: Revision) -> Bool {
        one.number < other.number
    }

    /// A bound of a range of revisions: of the commits that are read, or of two states that are
    /// compared.
    ///
    /// ```swift
    /// let commits = try store.journal(from: .earliest)
    /// let changes = try store.diff(from: .revision(commit.revision), to: .latest)
    /// ```
    ///
    /// A number can be written as it is: `store.journal(from: 3)`.
    public enum Bound: Hashable, Sendable {
        /// The earliest revision that the journal still contains: the first commit that is left,
        /// and, where states are compared, the state before it.
        case earliest
        /// A revision, which may be trimmed, or not exist yet.
        case revision(Revision)
        /// The last commit at the time of the read.
        case latest

        /// Returns whether the range from this bound to another goes forwards, whatever the store
        /// contains.
        package func goesForwards(to other: Self) -> Bool { rank <= other.rank }

        private var rank: UInt64 {
            switch self {
            case .earliest: 0
            case .revision(let revision): revision.number
            case .latest: .max
            }
        }
    }
}

extension Revision: CustomStringConvertible, ExpressibleByIntegerLiteral, Codable {
    /// The number as text.
    public var description: String { "\(number)" }

    /// Creates the revision with a number.
    public init(integerLiteral value: UInt64) {
        self.init(value)
    }

    /// Reads the number.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(UInt64.self))
    }

    /// Writes the number.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(number)
    }
}

/// The identity of a commit, known before it is written: with it, a commit whose outcome was not
/// reported can be found, from its base revision onwards.
public struct CommitID: Hashable, Sendable {
    /// The store that the commit was made for.
    public let store: ObjectID
    /// The revision that the change set is based on; the commit's own revision is greater.
    public let base: Revision
    /// A token of 40 random bits and, above them, 24 bits of the hash of the commit at `base`: a
    /// store with another commit there has another history.
    public let token: UInt64

    package init(store: ObjectID, base: Revision, token: UInt64) {
        self.store = store
        self.base = base
        self.token = token
    }
}

extension Revision.Bound: ExpressibleByIntegerLiteral {
    /// Creates the bound of the revision with a number.
    public init(integerLiteral value: UInt64) { self = .revision(Revision(value)) }
}
