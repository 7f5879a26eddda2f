import FoundationEssentials

/// The comparison of a sealed attribute with a value of one owner, in a query.
///
/// The value is encrypted by a key of the process, so that the texts of queries never contain it.
package struct SealedMatch: Hashable, Sendable {
    /// The object by whose key the value is sealed.
    package let owner: ObjectID
    private let value: SealedBytes
    /// The labels that values of the attribute may have.
    private let labels: [UInt32]

    /// Creates the comparison with a value that was not saved.
    package init(_ value: SealedBytes, owner: ObjectID, labels: [UInt32]) {
        self.value = value
        self.owner = owner
        self.labels = labels
    }

    /// Returns whether an attribute of an object has the value.
    ///
    /// A value that was not saved yet has the owner `saver`, by whose key it will be sealed.
    ///
    /// - Throws: `SealingError` when a value of the owner cannot be opened.
    func matches(
        _ bytes: SealedBytes, of object: ObjectID, saver: ObjectID?
    ) throws(SealingError) -> Bool {
        guard let place = bytes.place else {
            if saver != owner || bytes.bytes.isEmpty { return false }
            return try isEqual(to: bytes)
        }
        guard place.owner == owner, place.object == object, labels.contains(place.label) else {
            return false
        }
        return try isEqual(to: bytes)
    }

    private func isEqual(to bytes: SealedBytes) throws(SealingError) -> Bool {
        let plaintext = try value.opened()
        // A value that cannot be encoded has its type only.
        if plaintext.count <= 1 { return false }
        return try bytes.opened() == plaintext
    }

    // MARK: In an index

    /// The entries of an index for the values that may be equal.
    enum IndexValues {
        /// These values.
        case some([Value])
        /// All from one value up to another, which it does not contain: the owner has no key here.
        case range(Value, Value)
    }

    /// Returns what an index contains for the values that may be equal: the tokens by each version
    /// of the key and each label, and values of the owner that were sealed without a token.
    ///
    /// - Throws: `SealingError`: `.erased`, `.keyFileNotOpen`, `.notAKeyFile`, `.inputOutput`.
    func indexValues() throws(SealingError) -> IndexValues {
        let keys = try KeyFile.keysOfOpenFiles(of: owner)
        if keys.isEmpty {
            let last = SealedToken(
                bytes: [UInt8](repeating: .max, count: SealedToken.byteCount + 1))
            return .range(Self.indexValue(owner, nil), Self.indexValue(owner, last))
        }
        let plaintext = try value.opened()
        var values = [Self.indexValue(owner, nil)]
        for key in keys {
            for label in labels {
                values.append(
                    Self.indexValue(owner, SealedToken(of: plaintext, label: label, key)))
            }
        }
        return .some(values)
    }

    /// Returns what an index contains for a sealed value: the owner and, if there is one, the
    /// token.
    static func indexValue(of bytes: SealedBytes) -> Value {
        guard let place = bytes.place else { return .data(Data()) }
        return indexValue(place.owner, bytes.token)
    }

    private static func indexValue(_ owner: ObjectID, _ token: SealedToken?) -> Value {
        var buffer = ByteBuffer(capacity: 16 + SealedToken.byteCount)
        buffer.append(owner)
        token?.bytes.withUnsafeBytes { buffer.append($0) }
        return .data(Data(buffer.bytes))
    }
}
