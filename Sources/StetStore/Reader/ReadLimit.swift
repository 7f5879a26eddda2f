/// The end of long reads: they check it after each batch of objects, and stop by the error that it
/// throws, so that the slot of the read is free again.
package struct ReadLimit: Sendable {
    /// The limit of the reads of the current task or, outside a task, of the current call.
    @TaskLocal package static var current: ReadLimit?

    private let check: @Sendable () throws -> Void

    /// Creates a limit that a closure checks.
    package init(_ check: @escaping @Sendable () throws -> Void) { self.check = check }

    /// A limit that is never reached; with it, what is visited is counted.
    package static let none = ReadLimit {}

    /// Counts the objects that a read has visited.
    struct Counter {
        private static let batch = 256
        private let limit = ReadLimit.current
        /// The number of visited objects; 0 without a limit.
        private(set) var count = 0

        /// Counts an object that is visited; after each batch it checks the limit.
        ///
        /// - Throws: the error of the limit.
        @inline(__always)
        mutating func visit() throws {
            guard let limit else { return }
            count &+= 1
            if count % Self.batch == 0 { try limit.check() }
        }
    }
}
