import StetLMDB

extension StoreFile {
    /// Opens the store at `path` with the schema that is stored in it: for tools, which have no
    /// models.
    ///
    /// A file that is not there is not made.
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
            try refuseUnusable(path)
            try refuseForeign(place, nil)
            var sizes = configuration.ofEnvironment(entityCount: Limits.entityCount)
            sizes.createsFile = false
            let environment = try Environment.open(at: path, sizes)
            if configuration.inspectsPages {
                try refuseDamaged(try environment.inspectPages(), path)
            }
            return try environment.attachment {
                try connect(environment, nil, configuration)
            }
        }
    }
}

extension StoreTables {
    /// A schema that was damaged may be another one, and opening the store would migrate it.
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
