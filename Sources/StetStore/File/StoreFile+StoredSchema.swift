import StetLMDB

extension StoreFile {
    /// Opens the store at `path` with the schema that is stored in it: for tools, which have no
    /// models.
    ///
    /// A missing file is not created.
    ///
    /// - Throws: `StoreError`: `.notFound` for a missing file.
    package static func open(
        at path: String, _ configuration: Configuration = Configuration()
    ) throws -> StoreFile {
        try StoreError.wrapping(path: path) {
            let place = try StorePlace(lookingAt: path)
            guard place.dataFile != nil else {
                throw StoreError(
                    .notFound, path: path, message: "There is no store \(path).",
                    advice: "Correct the path; nothing was made.")
            }
            try place.check(allowsUnsafe: configuration.allowsUnsafePlace)
            let opening = EnvironmentOpening(place: place, configuration: configuration)
            let environment = try opening.open(nil, entityCount: Limits.entityCount)
            return try environment.attachment {
                try connect(environment, nil, configuration)
            }
        }
    }
}

extension StoreTables {
    /// Decodes a stored schema and compares it with its checksum: a damaged one could be read as
    /// another schema, to which opening would migrate the store.
    static func decode(
        schema value: UnsafeRawBufferPointer, _ checksum: UnsafeRawBufferPointer?
    ) throws -> Schema {
        guard let checksum else { throw DecodingFailure("the checksum of its schema is missing") }
        var reader = ByteReader(checksum)
        let expected: UInt64 = try reader.read()
        try reader.expectEnd()
        guard expected == Checksum.hash(value, seed: 0) else {
            throw DecodingFailure("its schema does not match its checksum")
        }
        return try Schema(decoding: value)
    }
}
