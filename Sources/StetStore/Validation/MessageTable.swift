/// The sentences of violations in one language.
///
/// A sentence is found by its English form, with placeholders in braces: "{property} must be at
/// least {count} characters". The messages that validators report are sentences, too: a table that
/// contains them translates them; otherwise they are not translated.
///
/// ```swift
/// var table = MessageTable.simplifiedChinese
/// table.names["Article.title"] = "标题"
/// table.sentences["a name, please"] = "请输入名称"
/// let text = error.description(in: table)
/// ```
public struct MessageTable: Sendable {
    /// The form of a sentence that a count requires, as named by CLDR.
    public enum Plural: Hashable, Sendable {
        /// one of CLDR's categories; every language has `other`
        case zero, one, two, few, many, other
    }

    /// The language, such as "en" or "zh-Hans".
    public var language: String
    /// The sentences by their English form, for counts that require no other form.
    public var sentences: [String: String]
    /// The other forms of sentences with a count, by the English form.
    public var plurals: [String: [Plural: String]]
    /// The names of entities ("Article") and properties ("Article.title") in sentences; defaults to
    /// their names in code.
    public var names: [String: String] = [:]
    /// Returns the form that a count requires.
    public var plural: @Sendable (Int) -> Plural
    /// The text between several names, and before the last one.
    public var separators = (between: ", ", last: " and ")

    /// Creates a table with sentences; without a rule for plurals, every count takes the same form.
    public init(
        language: String, sentences: [String: String] = [:],
        plurals: [String: [Plural: String]] = [:],
        plural: @escaping @Sendable (Int) -> Plural = { _ in .other }
    ) {
        self.language = language
        self.sentences = sentences
        self.plurals = plurals
        self.plural = plural
    }

    package func text(
        _ sentence: Sentence, entity: String, property: String? = nil
    ) -> String {
        let key = sentence.key
        let form = sentence.count.flatMap { plurals[key]?[plural($0)] }
        let template = form ?? sentences[key] ?? key
        guard template.utf8.contains(UInt8(ascii: "{")) else { return template }
        func name(_ property: String) -> String { names["\(entity).\(property)"] ?? property }
        let entityName = names[entity] ?? entity
        return Self.replacing(template) { placeholder in
            switch placeholder {
            case "property": property.map(name)
            case "entity": entityName
            case "subject": property.map(name) ?? entityName
            case "properties": list(sentence.properties.map(name))
            case "limit": sentence.limit
            case "count": sentence.count.map(String.init)
            default: nil
            }
        }
    }

    private func list(_ names: [String]) -> String {
        guard let last = names.last, names.count > 1 else { return names.first ?? "" }
        return names.dropLast().joined(separator: separators.between) + separators.last + last
    }

    /// Returns a template in which each placeholder with a value is replaced.
    private static func replacing(_ template: String, _ value: (Substring) -> String?) -> String {
        var text = ""
        var rest = template[...]
        while let start = rest.firstIndex(of: "{") {
            let end = rest[start...].firstIndex(of: "}")
            guard let end, let value = value(rest[rest.index(after: start)..<end]) else {
                text += rest[...start]
                rest = rest[rest.index(after: start)...]
                continue
            }
            text += rest[..<start] + value
            rest = rest[rest.index(after: end)...]
        }
        return text + rest
    }
}

/// The message of a violation, independent of the language.
package struct Sentence: Hashable, Sendable, Codable {
    /// The English sentence, with placeholders.
    package var key: String
    package var limit: String?
    package var count: Int?
    package var properties: [String] = []

    package init(
        _ key: String, limit: String? = nil, count: Int? = nil, properties: [String] = []
    ) {
        self.key = key
        self.limit = limit
        self.count = count
        self.properties = properties
    }
}
