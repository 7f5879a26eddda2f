// The elements of an array of embedded values as records within a record.

extension RecordWriter {
    /// Writes an array of embedded values: `write` writes the members of the element with an index
    /// into the slots from 0 on.
    ///
    /// A member that cannot be stored becomes a failure of the array.
    package mutating func writeElements(
        count: Int, memberCount: Int, slot: Slot,
        _ write: (_ index: Int, inout RecordWriter) -> Void
    ) {
        let owner = (start: start, slots: slots, positions: positions, placedSlots: placedSlots)
        let first = buffer.count
        let failureCount = failures.count
        if count > 0 {
            buffer.append(ValueType.embedded.rawValue)
            buffer.append(UInt32(truncatingIfNeeded: count))
        }
        for index in 0..<count {
            let length = buffer.count
            buffer.append(UInt32(0))
            begin(propertyCount: memberCount)
            write(index, &self)
            buffer.overwrite(UInt32(truncatingIfNeeded: buffer.count - start), at: length)
        }
        (start, slots, positions, placedSlots) = owner
        let offset = RecordLayout.tailSlot(
            offset: first - start, byteCount: buffer.count - first, isNormalized: false)
        self.write(word: offset, slot: slot)
        guard let failure = failures.dropFirst(failureCount).first else { return }
        failures.removeSubrange(failureCount...)
        fail(EncodingFailure("has an element whose member \(failure.reason)"), slot: slot)
    }
}

extension RecordReader {
    /// Returns a reader for the members of each element of an array, in the slots from 0 on.
    ///
    /// - Throws: `DecodingFailure` when the bytes are no array of elements with so many members.
    package mutating func elements(
        slot: Slot, memberCount: Int
    ) throws(DecodingFailure) -> [RecordReader] {
        var readers: [RecordReader] = []
        for body in try ElementBodies(bytes(slot: slot)) {
            readers.append(try RecordReader(body: body, propertyCount: memberCount))
        }
        return readers
    }
}
