public import FoundationEssentials
import StetStore

extension LargeData {
    /// The bytes of large data as a stream, in parts of at most 64 KiB.
    public struct Bytes: AsyncSequence, Sendable {
        /// A part of the bytes.
        public typealias Element = Data

        let data: LargeData
        let store: Store
        let range: Range<Int>

        /// Returns an iterator that begins with the first part.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(data: data, store: store, rest: range.clamped(to: 0..<data.byteCount))
        }

        /// Reads the parts one after another.
        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate let data: LargeData
            fileprivate let store: Store
            fileprivate var rest: Range<Int>

            /// Returns the next part; nil after the last one.
            ///
            /// - Throws: `StoreError`, as `LargeData.data(in:)` does.
            public mutating func next() async throws -> Data? {
                if rest.isEmpty { return nil }
                let part = LargeValue.part(of: rest)
                rest = part.upperBound..<rest.upperBound
                return try data.data(in: store, range: part)
            }
        }
    }
}
