extension EmbeddedElements {
    /// Returns the array that is stored as these bytes.
    ///
    /// - Throws: `DecodingFailure` when they are not an array, or an element lacks a member.
    package func list(_ bytes: UnsafeRawBufferPointer) throws(DecodingFailure) -> Value {
        var elements: [Value] = []
        for body in try ElementBodies(bytes) {
            let members = try RecordBody(body, of: entity).values()
            for (member, value) in zip(entity.properties, members)
            where value == .null && !member.isOptional {
                throw DecodingFailure("an element without its member \(member.name)")
            }
            elements.append(element(members))
        }
        return .list(elements)
    }

    /// Returns the bytes of an array.
    ///
    /// - Throws: `EncodingFailure` for an element with other members, or with a value that has no
    ///   stored form.
    func bytes(of elements: [Value]) throws(EncodingFailure) -> [UInt8] {
        var bodies: [[UInt8]] = []
        for element in elements {
            guard let members = members(of: element) else {
                throw EncodingFailure("has an element without the members of its type")
            }
            var writer = RecordWriter()
            writer.begin(propertyCount: entity.properties.count)
            writer.write(members, of: entity)
            if let failure = writer.failures.first { throw failure.reason }
            bodies.append(Array(writer.buffer.bytes))
        }
        return ElementBodies.joined(bodies)
    }

    /// Calls `body` with each element, decoded as an object is.
    func forEachElement(
        _ bytes: UnsafeRawBufferPointer, _ body: (_ index: Int, RecordBody) throws -> Void
    ) throws {
        for (index, element) in try ElementBodies(bytes).enumerated() {
            try body(index, try RecordBody(element, of: entity))
        }
    }
}

extension Property {
    /// Returns the value that is stored as a cell; `.null` for none.
    package func value(_ cell: Cell?) throws(DecodingFailure) -> Value {
        if let embedded, case .bytes(let bytes)? = cell { return try embedded.list(bytes) }
        return try Value(cell, type: type)
    }
}
