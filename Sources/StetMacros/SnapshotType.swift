/// The type `Snapshot` that `@Model` adds to a class.
///
/// Its conformances are written out: the compiler would derive them from the types of all fields,
/// which in some orders of files it does not know yet when it needs the conformance. Fields are
/// compared in a statement each: the compiler takes ten times as long for one long expression.
struct SnapshotType {
    /// The name of the class.
    let model: String
    let access: String
    let properties: [PropertyDeclaration]

    private func lines(_ line: (PropertyDeclaration) -> String) -> String {
        properties.map(line).joined(separator: "\n")
    }

    var declaration: String {
        """
        \(access)struct Snapshot: Stet._ModelSnapshot\(hasHiddenValues ? ", Swift.CustomReflectable" : "") {
        \(access)let id: Stet.ObjectID
        \(lines { "\($0.fieldAccess)var \($0.reference): \($0.snapshotType)" })
        fileprivate init(_$of object: \(model)) {
        self.id = object.id
        \(lines { "self.\($0.reference) = \($0.snapshotExpression(of: "object"))" })
        }
        \(access)init(_$id id: Stet.ObjectID, reader: inout Stet._RecordReader) throws(Stet._UnreadableValue) {
        self.id = id
        \(lines { "self.\($0.reference) = try \($0.snapshotType)._field(&reader, slot: \($0.slot))" })
        }
        \(access)func _$encode(into writer: inout Stet._RecordWriter) {
        \(lines { "self.\($0.reference)._write(&writer, slot: \($0.slot))" })
        }
        \(coding)
        }
        """
    }

    private var hasHiddenValues: Bool { properties.contains(where: \.isHidden) }

    /// The names of the fields, and the functions that compare, encode and decode them.
    private var coding: String {
        let shown = properties.filter { !$0.isHidden }
        let mirror = shown.map { ", (\"\($0.name)\", self.\($0.reference) as Any)" }.joined()
        return """
            private enum CodingKeys: Swift.String, Swift.CodingKey {
            case id
            \(lines { "case \($0.reference)" })
            }
            \(access)init(from decoder: any Swift.Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            self.id = try values.decode(Stet.ObjectID.self, forKey: .id)
            \(lines { "self.\($0.reference) = try \($0.snapshotType)._decode(values, CodingKeys.\($0.reference))" })
            }
            \(access)func encode(to encoder: any Swift.Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(id, forKey: .id)
            \(shown.map { "try self.\($0.reference)._encode(&values, CodingKeys.\($0.reference))" }.joined(separator: "\n"))
            }
            \(access)static func == (one: Self, other: Self) -> Swift.Bool {
            guard one.id == other.id else { return false }
            \(lines { "guard one.\($0.reference) == other.\($0.reference) else { return false }" })
            return true
            }
            \(hasHiddenValues ? "\(access)var customMirror: Swift.Mirror { Swift.Mirror(self, children: [(\"id\" as Swift.String?, id as Any)\(mirror)], displayStyle: .struct) }" : "")
            """
    }
}
