/// The change of one link, in the form of the journal.
package struct LinkChange: Hashable, Sendable {
    package let key: LinkKey
    package let before: Membership
    package let after: Membership
    /// The revision of the previous change of this link; 0 when there was none.
    package let previous: Revision

    package init(_ key: LinkKey, before: Membership, after: Membership, previous: Revision) {
        self.key = key
        self.before = before
        self.after = after
        self.previous = previous
    }
}

// MARK: - Bytes

extension LinkChange {
    private static let wasPresent: UInt8 = 1
    private static let isPresent: UInt8 = 2
    private static let hadPosition: UInt8 = 4
    private static let hasPosition: UInt8 = 8
    private static let hasPrevious: UInt8 = 16

    /// Appends changes of the links of one source, in ascending order: for each type its number and
    /// its changes.
    package static func append(
        _ changes: some Collection<LinkChange>, to buffer: inout ByteBuffer
    ) {
        var rest = changes[...]
        while let first = rest.first {
            let group = rest.prefix { $0.key.link == first.key.link }
            rest = rest[group.endIndex...]
            buffer.append(UInt16(first.key.link))
            buffer.append(UInt32(group.count))
            for change in group { change.append(to: &buffer) }
        }
    }

    private func append(to buffer: inout ByteBuffer) {
        buffer.append(key.target)
        buffer.append(
            (before.isPresent ? Self.wasPresent : 0) | (after.isPresent ? Self.isPresent : 0)
                | (before.position == nil ? 0 : Self.hadPosition)
                | (after.position == nil ? 0 : Self.hasPosition)
                | (previous == .zero ? 0 : Self.hasPrevious))
        if previous > .zero { buffer.append(previous.number) }
        for case let position? in [before.position, after.position] {
            buffer.append(UInt8(position.bytes.count))
            position.bytes.withUnsafeBytes { buffer.append($0) }
        }
    }

    /// Decodes the changes of the links of a source.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, from source: ObjectID
    ) throws(DecodingFailure) -> [LinkChange] {
        var reader = ByteReader(bytes)
        var changes: [LinkChange] = []
        while reader.remaining > 0 {
            let link = Int(try reader.read(UInt16.self))
            let count = try reader.read(UInt32.self)
            guard count > 0, changes.last.map({ $0.key.link < link }) ?? true else {
                throw DecodingFailure("links of a type without a change, or in two places")
            }
            for _ in 0..<count {
                let change = try LinkChange(decoding: &reader, link, source)
                guard changes.last.map({ $0.key < change.key }) ?? true else {
                    throw DecodingFailure("changed links out of order")
                }
                changes.append(change)
            }
        }
        return changes
    }

    private init(
        decoding reader: inout ByteReader, _ link: Int, _ source: ObjectID
    ) throws(DecodingFailure) {
        key = LinkKey(link: link, source: source, target: try reader.readObjectID())
        let flags: UInt8 = try reader.read()
        guard flags < Self.hasPrevious << 1 else {
            throw DecodingFailure("a changed link of a later format")
        }
        previous = flags & Self.hasPrevious == 0 ? .zero : Revision(try reader.read())
        func membership(
            _ presence: UInt8, _ placement: UInt8
        ) throws(DecodingFailure) -> Membership {
            if flags & presence == 0 {
                guard flags & placement == 0 else {
                    throw DecodingFailure("a position of an object that is not a member")
                }
                return .absent
            }
            if flags & placement == 0 { return .present(nil) }
            let count = Int(try reader.read(UInt8.self))
            guard let position = ListPosition(bytes: try reader.read(byteCount: count)) else {
                throw DecodingFailure("a position of a member that is not one")
            }
            return .present(position)
        }
        before = try membership(Self.wasPresent, Self.hadPosition)
        after = try membership(Self.isPresent, Self.hasPosition)
        guard before != after, (previous == .zero) == (flags & Self.hasPrevious == 0)
        else {
            throw DecodingFailure("a changed link without a change")
        }
    }
}

extension LinkChange {
    /// Returns the change in the current schema: links that have got an order are at its beginning,
    /// and links that have lost it have no positions; nil where no change remains.
    package func upcast(to link: LinkType) -> LinkChange? {
        let change = LinkChange(
            key, before: before.upcast(to: link), after: after.upcast(to: link),
            previous: previous)
        return change.before == change.after ? nil : change
    }
}

extension Membership {
    /// Returns the membership in the form of a type of links.
    func upcast(to link: LinkType) -> Membership {
        switch self {
        case .absent: .absent
        case .present(let position):
            .present(link.isOrdered ? position ?? ListPosition.first : nil)
        }
    }
}
