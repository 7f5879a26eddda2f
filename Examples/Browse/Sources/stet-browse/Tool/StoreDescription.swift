/// The schema of a store, as `stet info` describes it.
struct StoreDescription {
    let info: JSONValue
    let entities: [Entity]

    struct Entity {
        let name: String
        let properties: [Property]
        /// The names of to-many relationships, with the entities of their members.
        let relationships: [(name: String, target: String)]
        let indexes: [String]
        let recordCount: Int

        func property(_ name: String) -> Property? { properties.first { $0.name == name } }
    }

    struct Property {
        let name: String
        let type: String
        let isOptional: Bool
        let rules: [String]
        /// The entity that a reference leads to.
        let target: String?
    }

    init(_ info: JSONValue) {
        self.info = info
        entities = info["entities"].list.map { entity in
            Entity(
                name: entity["name"].text ?? "",
                properties: entity["properties"].list.map { property in
                    Property(
                        name: property["name"].text ?? "", type: property["type"].text ?? "",
                        isOptional: property["isOptional"] == .bool(true),
                        rules: property["rules"].list.compactMap(\.text),
                        target: property["target"].text)
                },
                relationships: entity["relationships"].list.map {
                    ($0["name"].text ?? "", $0["target"].text ?? "")
                },
                indexes: entity["indexes"].list.compactMap(\.text),
                recordCount: entity["recordCount"].integer ?? 0)
        }
    }

    var revision: Int { info["revision"].integer ?? 0 }

    subscript(entity: String) -> Entity? { entities.first { $0.name == entity } }

    /// The references that may lead to objects of an entity.
    func referrers(to name: String) -> [(entity: String, property: String)] {
        entities.flatMap { entity in
            entity.properties.filter { $0.target == name }.map { (entity.name, $0.name) }
        }
    }
}

extension Tool {
    func describe() async throws -> StoreDescription {
        StoreDescription(try await run("info").first)
    }
}
