/// A value that could not be sealed when it was saved, and why.
package struct SealRefusal: Sendable {
    package enum Reason: Sendable {
        /// the bytes are not sealed for this object
        case notSealed
        /// the key of the owner was destroyed
        case keyDestroyed
        /// the relationship to the owner is nil
        case ownerMissing(Seal)
        /// the value cannot be encoded
        case unencodable
        /// the bytes do not open
        case unopened(SealingError)
    }

    package let object: ObjectID
    package let slot: Slot
    package let reason: Reason

    package init(_ object: ObjectID, _ slot: Slot, _ reason: Reason) {
        self.object = object
        self.slot = slot
        self.reason = reason
    }
}
