/// The sentences in which violations are told, in one language.
///
/// A sentence is found by its English form, with what it speaks of in braces: "{property} must be
/// at least {count} characters". The messages that validators report are sentences, too: a table
/// that has them translates them, and one that has not leaves them as they are.
///
/// ```swift
/// var table = MessageTable.simplifiedChinese
/// table.names["Article.title"] = "标题"
/// table.sentences["a name, please"] = "请输入名称"
/// let text = error.description(in: table)
/// ```
public struct MessageTable: Sendable {
    /// The form of a sentence that a count asks for, as CLDR names them.
    public enum Plural: Hashable, Sendable {
        /// each as in some languages; `other` is in all of them
        case zero, one, two, few, many, other
    }

    /// Which language it is, as "en" or "zh-Hans".
    public var language: String
    /// Sentences by their English form, as they are told when no count asks for another form.
    public var sentences: [String: String]
    /// Other forms of a sentence that names a count.
    public var plurals: [String: [Plural: String]]
    /// The names of entities ("Article") and properties ("Article.title") in sentences; those of
    /// the code by default.
    public var names: [String: String] = [:]
    /// The form that a count asks for.
    public var plural: @Sendable (Int) -> Plural
    /// What stands between several names, and before the last one.
    public var separators = (between: ", ", last: " and ")

    /// A table with these sentences; without a rule for plurals every count takes the same form.
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

    func text(_ sentence: Sentence, entity: String, property: String?) -> String {
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

    /// A template with each placeholder replaced that has a value.
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

/// What a violation says, in no language yet.
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
