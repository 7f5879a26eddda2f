import StetStore

extension Store {
    /// The answer to a readiness probe: whether a store can be read and saved to, and why not.
    public struct Health: Sendable, Hashable, Codable {
        /// Something that is wrong, or soon will be.
        public struct Problem: Sendable, Hashable, Codable {
            /// The name of the problem: that of a code of `StoreError`, such as `diskFull`, or
            /// `saveWaits` or `checkpointLate`.
            public let code: String
            /// A sentence about it.
            public let message: String
        }

        /// Whether reads succeed.
        public let canRead: Bool
        /// Whether a save would be tried and would probably succeed.
        public let canSave: Bool
        /// Everything that is wrong; empty when nothing is.
        public let problems: [Problem]
        /// The number of bytes of the file that have ever been used.
        public let usedByteCount: Int
        /// The size that the file may reach.
        public let mapByteCount: Int
        /// The number of bytes that are left on the disk; nil when that is unknown.
        public let freeByteCount: Int?
        /// The number of open reads, over all processes.
        public let readerCount: Int
        /// The number of reads that may be open at once, over all processes.
        public let readerLimit: Int
        /// The number of saves of this process that wait for the writer.
        public let waitingSaveCount: Int
    }

    /// Returns whether the store can be read and saved to, for readiness probes.
    ///
    /// It reads the last commit's number, the table of readers and the free space of the disk, and
    /// writes nothing: what only a write can show, such as a defect of the disk, it does not find.
    /// It never throws: a closed store is a problem, too.
    ///
    /// - Parameters:
    ///   - waitLimit: the time after which a save that waits, or is being written, is a problem; 10
    ///     seconds by default.
    ///   - checkpointLimit: the time since the last checkpoint of a log after which it is late; 5
    ///     minutes by default.
    ///   - reserve: the number of bytes that must be left, on the disk and in the map, for saves;
    ///     16 MiB by default.
    /// - Returns: the problems, and the sizes that they follow from.
    /// - Complexity: O(open reads).
    public func health(
        waitLimit: Duration = .seconds(10), checkpointLimit: Duration = .seconds(300),
        reserve: Int = 16 << 20
    ) -> Health {
        Health(StoreCondition(of: file), waitLimit, checkpointLimit, reserve: reserve)
    }
}

extension Store.Health {
    fileprivate init(
        _ condition: StoreCondition, _ waitLimit: Duration, _ checkpointLimit: Duration,
        reserve: Int
    ) {
        var problems = Self.problems(of: condition, reserve: reserve)
        if condition.longestWait > waitLimit {
            problems.append(
                Problem(
                    code: "saveWaits",
                    message: "A save has been waiting for "
                        + "\(condition.longestWait.components.seconds) seconds."))
        }
        canSave = problems.isEmpty
        if let age = condition.checkpointAge, age > checkpointLimit {
            problems.append(
                Problem(
                    code: "checkpointLate",
                    message: "The last checkpoint is \(age.components.seconds) seconds old."))
        }
        canRead = condition.failure == nil
        self.problems = problems
        usedByteCount = condition.usedByteCount
        mapByteCount = condition.mapByteCount
        freeByteCount = condition.freeByteCount
        readerCount = condition.readerCount
        readerLimit = condition.readerLimit
        waitingSaveCount = condition.waitingSaveCount
    }

    /// Returns the problems that prevent saves, except for those of time.
    private static func problems(of condition: StoreCondition, reserve: Int) -> [Problem] {
        var problems: [Problem] = []
        func add(_ code: StoreError.Code, _ message: String) {
            problems.append(Problem(code: code.rawValue, message: message))
        }
        if let failure = condition.failure { add(failure.code, failure.message) }
        if !condition.isInPlace { add(.storeMoved, "The store's files were moved or replaced.") }
        if let other = condition.otherWriter {
            add(.writtenElsewhere, "The process \(other) writes the store.")
        }
        if let free = condition.freeByteCount, free < reserve {
            add(.diskFull, "The disk has \(free) bytes left.")
        }
        if condition.failure == nil, condition.mapByteCount - condition.usedByteCount < reserve {
            add(.mapFull, "The map of \(condition.mapByteCount) bytes is nearly full.")
        }
        if condition.failure == nil, condition.readerCount >= condition.readerLimit {
            add(.readersFull, "All \(condition.readerLimit) reads are open.")
        }
        return problems
    }
}
