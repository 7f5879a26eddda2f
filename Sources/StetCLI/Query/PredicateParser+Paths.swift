import StetStore

// The names that lead to properties, members and elements.

extension PredicateParser {
    typealias Place = (object: QueryObject, entity: Entity)

    /// Follows references up to the last name.
    mutating func walk() throws(PredicateMistake) -> (Place, String) {
        var place = scopes[scopes.count - 1]
        for _ in 0..<Self.pathLimit {
            let start = token.offset
            let name = try takeName(at: place)
            guard [.sign("."), .sign("?.")].contains(token.kind) else { return (place, name) }
            if relationship(place, name) != nil || array(place, name) != nil {
                return (place, name)
            }
            let entity = place.entity
            guard let slot = entity.slot(of: name) else { throw unknown(name, place, start) }
            guard let target = entity.properties[slot].target,
                let number = schema.number(ofEntity: target)
            else { throw PredicateMistake("\(name) is no reference", at: start) }
            self.place += 1
            place = (
                .target(place.object, slot: slot, entity: target), schema.entities[number]
            )
        }
        throw PredicateMistake("expected at most \(Self.pathLimit) references", at: token.offset)
    }

    /// Takes the name of a property, which consists of two words for a member of an embedded value.
    private mutating func takeName(at place: Place) throws(PredicateMistake) -> String {
        let name = try takeName()
        let next = tokens[min(self.place + 1, tokens.count - 1)].kind
        guard [.sign("."), .sign("?.")].contains(token.kind), case .name(let member) = next,
            place.entity.slot(of: "\(name).\(member)") != nil
        else { return name }
        self.place += 2
        return "\(name).\(member)"
    }

    private mutating func takeName() throws(PredicateMistake) -> String {
        switch token.kind {
        case .name(let name), .quotedName(let name):
            place += 1
            return name
        default: throw expected("a name")
        }
    }

    /// Takes a path to a value.
    mutating func path() throws(PredicateMistake) -> PredicatePath {
        let start = token.offset
        let (place, name) = try walk()
        let entity = place.entity
        if let (elements, members) = array(place, name), take(".") || take("?.") {
            let tested = (QueryObject.element(scope: elements.scope), members)
            guard let path = try aggregate(of: tested, { .elements($0, elements, .everything) })
            else { throw isMany(name, "elements", start) }
            return path
        }
        if let slot = entity.slot(of: name) {
            return PredicatePath(
                node: .property(place.object, slot: slot), type: entity.properties[slot].type.widest
            )
        }
        if let (members, target) = relationship(place, name) {
            let tested = (QueryObject.member(scope: members.scope), target)
            guard take(".") || take("?."),
                let path = try aggregate(of: tested, { .members($0, members, .everything) })
            else { throw isMany(name, "members", start) }
            return path
        }
        if name == "id", !entity.name.isEmpty {
            return PredicatePath(node: .id(place.object), type: .reference)
        }
        throw unknown(name, place, start)
    }

    private func isMany(_ name: String, _ what: String, _ offset: Int) -> PredicateMistake {
        PredicateMistake(
            "\(name) has many \(what): expected \(name).count, \(name).sum(…), "
                + "or any \(name) { … }", at: offset)
    }

    /// Takes what is asked of many members or elements, `count` or `sum(pages)`; returns nil for
    /// anything else.
    private mutating func aggregate(
        of tested: Place, _ node: (QueryNode.MemberTest) -> QueryNode
    ) throws(PredicateMistake) -> PredicatePath? {
        if take(word: "count") { return PredicatePath(node: node(.count), type: .int) }
        let aggregates: [(String, QueryNode.Aggregate)] = [
            ("sum", .sum), ("average", .average), ("min", .least), ("max", .greatest),
        ]
        for (word, aggregate) in aggregates where take(word: word) {
            try expect("(")
            let start = token.offset
            let value = try inside(tested) { parser throws(PredicateMistake) in try parser.path() }
            try expect(")")
            let isTotal = [.sum, .average].contains(aggregate)
            guard isTotal ? value.type.isNumber : value.type.isOrdered else {
                throw PredicateMistake(
                    "\(word) needs \(isTotal ? "a number" : "values with an order"), not "
                        + "\(value.type)", at: start)
            }
            return PredicatePath(
                node: node(.aggregate(aggregate, value.node)),
                type: aggregate == .average ? .double : value.type)
        }
        return nil
    }

    func relationship(
        _ place: Place, _ name: String
    ) -> (QueryMembers, target: Entity)? {
        let entity = place.entity
        guard let index = entity.relationships.firstIndex(where: { $0.name == name }),
            let target = schema.number(ofEntity: entity.relationships[index].target)
        else { return nil }
        return (
            QueryMembers(
                owner: place.object, entity: entity.name, relationship: index,
                scope: QueryScopes.next()),
            schema.entities[target]
        )
    }

    /// Returns the array of embedded values with a name, and their members as an entity.
    func array(_ place: Place, _ name: String) -> (QueryElements, members: Entity)? {
        guard let slot = place.entity.slot(of: name),
            let elements = place.entity.properties[slot].embedded
        else { return nil }
        return (
            QueryElements(owner: place.object, slot: slot, scope: QueryScopes.next()),
            elements.entity
        )
    }

    private func unknown(_ name: String, _ place: Place, _ offset: Int) -> PredicateMistake {
        let entity = place.entity
        let names = entity.properties.map(\.name) + entity.relationships.map(\.name)
        let known = names.isEmpty ? "none" : names.joined(separator: ", ")
        return PredicateMistake(
            "\(entity.title) has no property \(name); it has \(known)", at: offset)
    }
}
