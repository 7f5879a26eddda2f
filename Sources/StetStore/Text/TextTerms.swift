/// The parts of an object's texts by which an index finds it: words or trigrams.
package protocol TextTerms {
    /// The number of parts, which is added to the totals of the index.
    var count: Int { get }

    /// Calls `body` with each different part, and with the bytes of its posting.
    func forEachPosting(_ body: (_ term: ArraySlice<UInt8>, _ posting: [UInt8]) -> Void)
}
