extension JournalRequest {
    private static let trimKind: UInt8 = 1
    private static let redactionKind: UInt8 = 2

    /// Appends the request.
    func append(to buffer: inout ByteBuffer) {
        switch self {
        case .trim(let last):
            buffer.append(Self.trimKind)
            buffer.append(last.number)
        case .redaction(let requests):
            buffer.append(Self.redactionKind)
            buffer.append(UInt32(requests.count))
            for request in requests {
                buffer.append(UInt16(request.entity.rawValue))
                buffer.append(request.object)
                buffer.append(UInt16(request.slots.count))
                for slot in request.slots { buffer.append(UInt16(slot.index)) }
            }
        }
    }

    init(decoding reader: inout ByteReader) throws(DecodingFailure) {
        switch try reader.read(UInt8.self) {
        case Self.trimKind: self = .trim(through: Revision(try reader.read()))
        case Self.redactionKind:
            var requests: [RedactionRequest] = []
            for _ in 0..<(try reader.read(UInt32.self)) {
                let entity = EntityNumber(try reader.read(UInt16.self))
                let object = try reader.readObjectID()
                var slots: [Slot] = []
                for _ in 0..<(try reader.read(UInt16.self)) {
                    slots.append(Slot(try reader.read(UInt16.self)))
                }
                guard zip(slots, slots.dropFirst()).allSatisfy(<) else {
                    throw DecodingFailure("a request to redact properties out of order")
                }
                requests.append(RedactionRequest(entity: entity, object: object, slots: slots))
            }
            self = .redaction(requests)
        default: throw DecodingFailure("a request of an unknown kind")
        }
    }
}
