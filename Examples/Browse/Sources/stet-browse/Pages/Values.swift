import Foundation
import Markup

/// Shows values, and makes links of ids, with the text by which people know the objects.
struct Values {
    let description: StoreDescription
    /// The texts of objects, by their ids.
    var names: [String: String] = [:]

    /// The text of a value in a table, or as a whole.
    func value(
        _ value: JSONValue, of property: String, _ entity: String, isWhole: Bool = false
    ) -> HTML {
        let target =
            description[entity]?.property(property)?.target
            ?? description[entity]?.relationships.first { $0.name == property }?.target
        switch value {
        case .null: return "<span class=\"nil\">nil</span>"
        case .text(let id) where target != nil: return link(id)
        case .list(let ids) where target != nil:
            return ids.isEmpty
                ? "<span class=\"nil\">none</span>"
                : "<ul class=\"ids\">\(ids.prefix(200).map { "<li>\(link($0.text ?? ""))</li>" as HTML })</ul>"
        case .text(let text):
            guard !isWhole, text.count > 80 else { return "<bdi>\(text)</bdi>" }
            return "<bdi>\(text.prefix(80))…</bdi>"
        default: return "\(value.description)"
        }
    }

    /// A link to an object, by the text of its first attribute, or by the end of its id.
    func link(_ id: String) -> HTML {
        let name = names[id].map { "<bdi>\($0)</bdi>" as HTML } ?? "<code>…\(id.suffix(8))</code>"
        return "<a href=\"/objects/\(id)\" title=\"\(id)\">\(name)</a>"
    }

    /// An author, with a link to what they have done: often the id of an object.
    func author(_ author: JSONValue) -> HTML? {
        author.text.map { name -> HTML in
            let text = names[name] ?? (UUID(uuidString: name) == nil ? name : "…\(name.suffix(8))")
            return "<a href=\"\(address("/timeline", ["author": name]))\"><bdi>\(text)</bdi></a>"
        }
    }

    /// A list of what changes did to properties and members.
    func changes(_ change: JSONValue, of entity: String) -> HTML {
        let kind = change["kind"].text ?? "update"
        let order = description[entity]?.properties.map(\.name) ?? []
        func position(_ name: String) -> Int { order.firstIndex(of: name) ?? order.count }
        let properties = change["properties"].members.sorted {
            (position($0.key), $0.key) < (position($1.key), $1.key)
        }
        let rows = properties.map { name, sides -> HTML in
            let old: HTML? = kind == "insert" ? nil : side(sides, "old", name, entity)
            let new: HTML? = kind == "delete" ? nil : side(sides, "new", name, entity)
            return """
                <li><span class="property">\(name)</span>
                \(old.map { "<del>\($0)</del>" as HTML }) \(new.map { "<ins>\($0)</ins>" as HTML })</li>
                """
        }
        let members = change["relationships"].members.sorted { $0.key < $1.key }.map {
            name, sides -> HTML in
            let parts = ["added", "removed", "moved"].filter { sides[$0] != .null }.map {
                "\($0) \(value(sides[$0], of: name, entity))" as HTML
            }
            return "<li><span class=\"property\">\(name)</span> \(parts)</li>"
        }
        return "<ul class=\"changes\">\(rows)\(members)</ul>"
    }

    private func side(_ sides: JSONValue, _ side: String, _ name: String, _ entity: String) -> HTML
    {
        guard sides.members[side] != nil else { return "<span class=\"nil\">redacted</span>" }
        return value(sides[side], of: name, entity)
    }
}

extension JSONValue {
    /// The values before and after a change, and the members that came and went, by property.
    var idsOfChange: [String: JSONValue] {
        let properties = self["properties"].members.mapValues { sides in
            JSONValue.list([sides["old"], sides["new"]])
        }
        let members = self["relationships"].members.mapValues { sides in
            JSONValue.list(["added", "removed", "moved"].flatMap { sides[$0].list })
        }
        return properties.merging(members) { one, _ in one }
    }
}

extension Inspector {
    /// Finds the texts of objects, and of those to which their values lead: one command for each
    /// entity.
    func names(
        _ description: StoreDescription,
        of objects: [(entity: String, id: String?, values: JSONValue)]
    ) async throws -> Values {
        var wanted: [String: Set<String>] = [:]
        for object in objects {
            if let id = object.id { wanted[object.entity, default: []].insert(id) }
        }
        for (entity, _, values) in objects {
            for (name, value) in values.members {
                let target =
                    description[entity]?.property(name)?.target
                    ?? description[entity]?.relationships.first { $0.name == name }?.target
                guard let target else { continue }
                let ids = value.text.map { [$0] } ?? value.list.compactMap(\.text)
                wanted[target, default: []].formUnion(ids.prefix(50))
            }
        }
        var values = Values(description: description)
        for (entity, ids) in wanted where !ids.isEmpty {
            let list = ids.sorted().prefix(200).map { "\"\($0)\"" }.joined(separator: ", ")
            for object in try await tool.run("query", [entity, "id in [\(list)]"]).lines {
                if let id = object["id"].text { values.names[id] = name(of: object, description) }
            }
        }
        return values
    }

    /// The text by which people know an object: that of its first text attribute.
    func name(of object: JSONValue, _ description: StoreDescription, limit: Int = 40) -> String? {
        let entity = description[object["entity"].text ?? ""]
        let property = entity?.properties.first { $0.type == "string" }
        let text = property.flatMap { object["values"][$0.name].text } ?? ""
        return text.isEmpty ? nil : text.count > limit ? "\(text.prefix(limit))…" : text
    }

    /// Adds the texts of authors whose names are ids of objects.
    func addAuthors(_ authors: [JSONValue], to values: inout Values) async throws {
        let ids = Set(authors.compactMap(\.text)).filter {
            UUID(uuidString: $0) != nil && values.names[$0] == nil
        }
        for id in ids.sorted().prefix(20) {
            // An author need not be an object.
            guard let object = try? await tool.run("show", [id]).first else { continue }
            values.names[id] = name(of: object, values.description)
        }
    }
}
