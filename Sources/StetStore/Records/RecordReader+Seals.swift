extension RecordReader {
    /// Lets `isPlaced` compare sealed values with an object and the labels of its attributes, which
    /// the caller keeps alive.
    @inlinable
    package mutating func expect(_ labels: Unmanaged<SealLabels>, of object: ObjectID) {
        self.labels = labels
        self.object = object
    }

    /// Returns whether a sealed value belongs to the object and property in whose record it is.
    package func isPlaced(_ value: SealedBytes, slot: Slot) -> Bool {
        guard let labels, let place = value.place else { return true }
        return place.object == object
            && labels._withUnsafeGuaranteedRef { $0.contains(place.label, slot: slot) }
    }
}

extension RecordBody {
    /// Returns the bytes of a sealed attribute; nil for nil.
    package func sealedBytes(_ slot: Slot) throws(DecodingFailure) -> SealedBytes? {
        guard case .bytes(let bytes)? = try cell(slot) else { return nil }
        return SealedBytes(bytes: Array(bytes))
    }

    /// Returns the value of a property as indexes contain it: a sealed one by its token.
    func indexedValue(_ slot: Slot) throws(DecodingFailure) -> Value {
        guard entity.properties[slot].seal != nil, let bytes = try sealedBytes(slot) else {
            return try value(slot)
        }
        return SealedMatch.indexValue(of: bytes)
    }
}
