import StetLMDB

/// The key of an entry of an index: the number of the index, the ordered key of the values, and the
/// id of the object.
///
/// The value of the entry is a checksum of the key, or empty in the entries of earlier versions.
///
/// A key of values that is too long is truncated so that the entry fits; entries with equal
/// beginnings must then be distinguished by the records of their objects.
struct IndexKey {
    static let numberByteCount = 2
    static let idByteCount = 16
    /// The greatest length of a key of values that is not truncated.
    static let valuesByteLimit = OrderedKey.byteLimit - numberByteCount - idByteCount

    let number: Int
    /// The key of the values, possibly truncated.
    let values: UnsafeRawBufferPointer
    let id: ObjectID

    /// True when `values` may be truncated.
    var isTruncated: Bool { values.count == Self.valuesByteLimit }

    /// Decodes an entry.
    init(_ bytes: UnsafeRawBufferPointer) throws(DecodingFailure) {
        guard bytes.count > Self.numberByteCount + Self.idByteCount else {
            throw DecodingFailure("an entry of an index of \(bytes.count) bytes")
        }
        number = try Self.number(of: bytes)
        let idStart = bytes.count - Self.idByteCount
        values = UnsafeRawBufferPointer(rebasing: bytes[Self.numberByteCount..<idStart])
        id = ObjectID(bytes: UnsafeRawBufferPointer(rebasing: bytes[idStart...]))
    }

    /// Returns the number of the index to which a key belongs, whatever kind of index it is.
    static func number(of key: UnsafeRawBufferPointer) throws(DecodingFailure) -> Int {
        guard key.count >= numberByteCount else {
            throw DecodingFailure("an entry of an index of \(key.count) bytes")
        }
        return Int(UInt16(bigEndian: key.loadUnaligned(as: UInt16.self)))
    }

    /// The number of bytes of a checksum.
    private static let checksumByteCount = 4

    /// Adds an entry with its checksum.
    static func put(
        _ key: UnsafeRawBufferPointer, in table: Table, _ transaction: borrowing WriteTransaction
    ) throws {
        try withUnsafeBytes(of: checksum(of: key).littleEndian) {
            try transaction.put($0, for: key, in: table)
        }
    }

    private static func checksum(of key: UnsafeRawBufferPointer) -> UInt32 {
        UInt32(truncatingIfNeeded: Checksum.hash(key, seed: 0))
    }

    /// Returns whether the value of an entry is the checksum of its key, or empty.
    static func isIntact(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        if value.isEmpty { return true }
        return value.count == checksumByteCount
            && UInt32(littleEndian: value.loadUnaligned(as: UInt32.self)) == checksum(of: key)
    }

    /// Returns the bytes with which all entries of an index begin.
    static func numberBytes(_ number: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt16(number).bigEndian) { Array($0) }
    }
}

extension EntityIndex {
    /// Returns the key of values for the first properties, not truncated.
    package func key(of values: [Value]) throws(DecodingFailure) -> [UInt8] {
        guard values.count <= parts.count else {
            throw DecodingFailure("\(values.count) values for an index of \(parts.count)")
        }
        let folded = zip(values, parts).map { $0.folded($1.folding) }
        guard let key = OrderedKey(folded, byteLimit: .max) else {
            throw DecodingFailure("values without an order")
        }
        return key.bytes
    }

    /// Returns the parts of an object's texts, for an index that has a list for each.
    ///
    /// - Throws: `DecodingFailure`; `StoreError` (`.textRulesMissing`) when the index is of another
    ///   version.
    func terms(of body: RecordBody) throws -> any TextTerms {
        if isText { return try words(of: body) }
        try checkVersion(in: body.entity)
        var trigrams = TextTrigrams()
        for part in parts {
            guard case .bytes(let text)? = try body.cell(part.slot) else { continue }
            trigrams.append(text)
        }
        return trigrams
    }

    /// Returns the words of an object, for an index of words.
    ///
    /// - Throws: as `terms(of:)`.
    func words(of body: RecordBody) throws -> TextWords {
        try checkVersion(in: body.entity)
        var words = TextWords()
        // A loop over the parts would copy them.
        for place in parts.indices {
            guard case .bytes(let text)? = try body.cell(parts[place].slot) else { continue }
            words.append(text, attribute: place, language: parts[place].language)
        }
        return words
    }

    /// - Throws: `StoreError` (`.textRulesMissing`) when texts were split or stemmed by other rules
    ///   than those of this process.
    func checkVersion(in entity: Entity) throws {
        guard let problem = problemOfVersion(in: entity) else { return }
        throw StoreError(
            .textRulesMissing,
            message: "The index can't be used or changed: \(problem).",
            advice: "Open the store with its application, which renews the index.")
    }

    /// Returns the key of an object's values, not truncated.
    func key(of body: RecordBody) throws(DecodingFailure) -> [UInt8] {
        var key: [UInt8] = []
        _ = try append(body, to: &key)
        return key
    }

    /// Appends the key of an object's values, not truncated; returns whether one of them is nil.
    func append(_ body: RecordBody, to bytes: inout [UInt8]) throws(DecodingFailure) -> Bool {
        try body.append(parts[...], to: &bytes)
    }
}

extension RecordBody {
    /// Appends the key of the values of some parts of an index, not truncated; returns whether one
    /// of them is nil.
    func append(
        _ parts: ArraySlice<EntityIndex.Part>, to bytes: inout [UInt8]
    ) throws(DecodingFailure) -> Bool {
        var hasNull = false
        // A loop over the parts would copy them, as constants would copy the properties.
        for place in parts.indices {
            let slot = parts[place].slot
            let cell = try cell(slot)
            if cell == nil { hasNull = true }
            if entity.properties[slot].seal != nil {
                _ = OrderedKey.append(try indexedValue(slot), to: &bytes)
            } else {
                try OrderedKey.append(
                    cell, entity.properties[slot].type, parts[place].folding, to: &bytes)
            }
        }
        return hasNull
    }
}

extension NumberedIndex {
    /// The index as its lists know it.
    package var textIndex: TextIndex {
        TextIndex(number, of: entity, index.isText ? .words : .trigrams)
    }
}
