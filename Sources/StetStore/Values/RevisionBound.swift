extension Revision {
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

extension Revision.Bound: ExpressibleByIntegerLiteral {
    /// Creates the bound of the revision with a number.
    public init(integerLiteral value: UInt64) { self = .revision(Revision(value)) }
}
