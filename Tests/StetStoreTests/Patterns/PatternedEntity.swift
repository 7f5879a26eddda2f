import FoundationEssentials
import StetStore

extension Entity {
    /// The rules and normalisers that came with format 4 of the schema.
    static let patterned = Entity(
        name: "Patterned",
        properties: [
            Property(
                name: "slug", type: .string, rules: [.matches("[a-z]+(-[a-z]+)*")],
                normalizers: [.trimmed, .lowercased, .nfc, .custom]),
            Property(
                name: "color", type: .string, isOptional: true,
                rules: [.oneOf([.string("red"), .string("gr\u{fc}n")])]),
            Property(name: "level", type: .int8, rules: [.oneOf([.int(-1), .int(1)])]),
            Property(
                name: "price", type: .decimal, rules: [.oneOf([.decimal(1.5), .decimal(-2)])]),
            Property(name: "score", type: .double, rules: [.oneOf([.double(0), .double(.nan)])]),
        ])
}
