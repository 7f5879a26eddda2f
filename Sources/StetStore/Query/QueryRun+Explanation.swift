extension QueryState {
    /// Returns a plan, followed by the number of objects that its execution finds, and by what both
    /// have read: planning reads the entries of indexes that the execution uses.
    func analysis(_ plan: () throws -> String, _ execute: () throws -> Int) throws -> String {
        let (before, begun) = (visitedCount, ContinuousClock.now)
        let text = try plan()
        let count = try execute()
        let time = begun.duration(to: .now) / .milliseconds(1)
        let visited = visitedCount - before
        return text + "\nfound \(count), after reading \(visited) records, entries of indexes and "
            + "members in \((time * 1_000).rounded() / 1_000) ms"
    }
}

extension QueryRun {
    /// Returns how the query is executed, for the values of nodes only if there are some.
    ///
    /// It has one line of words for each step.
    package func explanation(reading nodes: [QueryNode]? = nil) throws -> String {
        let entity = state.entity(query.entity)
        var lines: [String] = []
        var isOrdered = false
        let access = try access()
        switch access {
        case .nothing: return "No \(entity.name) can meet the condition."
        case .ids(let ids, let path, let others):
            lines.append("\(words(path)): \(ids.count) of \(entity.name)")
            lines += others.map { "also in: \(words($0))" }
        case .entries(let path): lines.append("\(words(.index(path))), without reading records")
        case .ordered(let range):
            isOrdered = true
            lines.append(
                "walk \(range.index.index.description(in: entity)) of \(entity.name) in order"
                    + (query.limit == nil ? "" : ", until the limit is reached"))
        case .scan:
            let count = try state.reader.recordCount(ofEntity: query.entity)
            lines.append("look at all \(count) records of \(entity.name)")
            lines += try passedOver(count)
        }
        if let nodes {
            lines.append(
                isCovered(access, reading: nodes)
                    ? "the values are those of the entries, except text that is long or not ASCII"
                    : "the values are those of the records")
        }
        if query.condition != .everything {
            lines.append("test: \(query.condition.text(state.schema, entity))")
        }
        if !query.order.isEmpty, !isOrdered {
            let keys = query.order.map { order in
                order.node.text(state.schema, entity) + (order.isDescending ? " descending" : "")
            }
            lines.append("sort by \(keys.joined(separator: ", "))")
        }
        return (lines + partOfPage).joined(separator: "\n")
    }

    /// The steps that take a part of the objects.
    private var partOfPage: [String] {
        var lines: [String] = []
        if query.after != nil { lines.append("leave out what comes before the page") }
        if query.offset > 0 { lines.append("leave out the first \(query.offset)") }
        if let limit = query.limit { lines.append("at most \(limit)") }
        return lines
    }

    /// Returns whether the index that finds the objects contains all that is read of them.
    private func isCovered(_ access: Access, reading nodes: [QueryNode]) -> Bool {
        switch access {
        case .entries: true
        case .ids(_, .index(let path), _):
            isCovered(by: path.index, reading: nodes, isMet: path.isExact)
        case .ordered(let range):
            isCovered(by: range.index, reading: nodes, isMet: range.isExact)
        case .nothing, .ids, .scan: false
        }
    }

    /// Returns whether objects are found in the wanted order, so that a part of the result costs no
    /// more than its own length.
    package func isOrderedByAccess() throws -> Bool {
        switch try access() {
        case .nothing, .ordered: true
        case .scan: query.order.isEmpty
        case .ids, .entries: false
        }
    }

    /// Runs the query, for the values of nodes only if there are some, and returns how it was
    /// executed, in words and numbers.
    package func analysis(reading nodes: [QueryNode]? = nil) throws -> String {
        try state.analysis {
            try explanation(reading: nodes)
        } _: {
            guard let nodes else { return try rows().count }
            var count = 0
            try forEachOfPage(reading: nodes) { _, _ in count += 1 }
            return count
        }
    }

    /// Returns why indexes of substrings are not used, in words; one line for each.
    private func passedOver(_ recordCount: Int) throws -> [String] {
        if try state.isFarBehind(recordCount: recordCount) { return [] }
        let longer = try planner.paths().compactMap { path in
            guard case .substrings = path else { return nil as String? }
            return "\(words(path)): more than \(most(of: recordCount)), which is not worth it"
        }
        return longer + planner.shortSubstrings
    }

    private func words(_ path: QueryPath) -> String {
        let entity = state.entity(query.entity)
        switch path {
        case .ids: return "look up by id"
        case .index(let path):
            let bounds = path.bounds.map { $0.description(in: entity) }.joined(separator: " and ")
            return "\(path.index.index.description(in: entity)): \(bounds.isEmpty ? "all" : bounds)"
        case .references(let slot, let targets, _):
            let name = entity.properties[slot].name
            let which = targets.count == 1 ? "\(targets[0])" : "one of \(targets.count)"
            return "references: \(name) is \(which)"
        case .targets(let slot, let query, _):
            let target = state.entity(query.entity)
            return "references: \(entity.properties[slot].name) is a \(target.name) with "
                + query.condition.text(state.schema, target)
        case .owners(let relationship, let query, _):
            let member = state.entity(query.entity)
            return "\(relationship.name) has a \(member.name) with "
                + query.condition.text(state.schema, member)
        case .counted(let relationship, let comparison, let number, _):
            return "numbers of \(relationship.name): \(comparison.symbol) \(number)"
        case .words(let match, _): return "words: \"\(match.query.text)\""
        case .substrings(let path):
            let texts = path.texts.map { "\"\($0)\"" }.joined(separator: " and ")
            let count = path.search.count
            return "\(path.index.index.description(in: entity)): \(count) "
                + (count == 1 ? "trigram" : "trigrams") + " of \(texts)"
        case .union(let paths): return paths.map(words).joined(separator: "; or ")
        }
    }
}

extension QueryNode {
    /// Returns the node in the syntax of a query of an entity of a schema.
    package func text(_ schema: Schema, _ root: Entity) -> String {
        QueryText(schema: schema, root: root).text(self)
    }

    /// Returns a node that reads only the object itself in the syntax of a query.
    func text(of entity: Entity) -> String { QueryText(schema: nil, root: entity).text(self) }
}

/// Writes queries for people.
private struct QueryText {
    let schema: Schema?
    let root: Entity
    var members: [Int: Entity] = [:]

    func text(_ node: QueryNode) -> String {
        switch node {
        case .constant(let value): return "\(value)"
        case .property(let object, let slot):
            return path(to: place(object).entity?.properties.element(at: slot)?.name, of: object)
        case .id(let object): return path(to: "id", of: object)
        case .comparison(let comparison, let left, let right):
            return "\(text(left)) \(comparison.symbol) \(text(right))"
        case .isIn(let node, let values):
            let list = values.prefix(4).map(\.description).joined(separator: ", ")
            return "\(text(node)) in [\(list)\(values.count > 4 ? ", …" : "")]"
        case .text(let search, let one, let other):
            return "\(text(one)) \(search.words) \(text(other))"
        case .folded(let node, let folding):
            return "\(text(node))\(folding.words)"
        case .all(let nodes): return list(nodes, " && ", "everything")
        case .any(let nodes): return list(nodes, " || ", "nothing")
        case .not(let node): return "!(\(text(node)))"
        case .arithmetic(let operation, let one, let other):
            return "(\(text(one)) \(operation.symbol) \(text(other)))"
        case .coalesced(let one, let other): return "(\(text(one)) ?? \(text(other)))"
        case .members(let test, let members, let condition):
            return text(test, members, condition)
        case .elements(let test, let array, let condition):
            let property = place(array.owner).entity?.properties.element(at: array.slot)
            var inner = self
            inner.members[array.scope] = property?.embedded?.entity
            return text(test, path(to: property?.name, of: array.owner), condition, inner)
        case .sealed(let object, let slot, let match):
            return "\(text(.property(object, slot: slot))) equals a value sealed by \(match.owner)"
        case .matching(let object, let match):
            return path(to: "matching \"\(match.query.text)\"", of: object)
        case .rank(_, let match): return "rank of \"\(match.query.text)\""
        }
    }

    private func list(_ nodes: [QueryNode], _ separator: String, _ none: String) -> String {
        if nodes.isEmpty { return none }
        return nodes.map { node in
            switch node {
            case .all(let inner) where inner.count > 1, .any(let inner) where inner.count > 1:
                "(\(text(node)))"
            default: text(node)
            }
        }.joined(separator: separator)
    }

    private func text(
        _ test: QueryNode.MemberTest, _ members: QueryMembers, _ condition: QueryNode
    ) -> String {
        let relationship = place(members.owner).entity?.relationships.element(
            at: members.relationship)
        var inner = self
        inner.members[members.scope] = relationship.flatMap { schema?.entity(named: $0.target) }
        return text(test, path(to: relationship?.name, of: members.owner), condition, inner)
    }

    /// Returns the name of a part of an object, after the path to it.
    private func path(to name: String?, of object: QueryObject) -> String {
        let path = place(object).path
        return path.isEmpty ? name ?? "?" : "\(path).\(name ?? "?")"
    }

    /// Returns the test of members or elements; `inner` describes the condition.
    private func text(
        _ test: QueryNode.MemberTest, _ name: String, _ condition: QueryNode, _ inner: Self
    ) -> String {
        let test =
            switch test {
            case .any: "\(name).any"
            case .all: "\(name).all"
            case .count: "\(name).count"
            case .aggregate(let aggregate, let value):
                "\(name).\(aggregate.word)(\(inner.text(value)))"
            }
        if condition != .everything { return "\(test) { \(inner.text(condition)) }" }
        return test.hasSuffix(".any") || test.hasSuffix(".all") ? "\(test) {}" : test
    }

    private func place(_ object: QueryObject) -> (path: String, entity: Entity?) {
        switch object {
        case .root: return (members.isEmpty ? "" : "$", root)
        case .member(let scope), .element(let scope): return ("", members[scope])
        case .target(let owner, let slot, let name):
            let (path, entity) = place(owner)
            let property = entity?.properties.element(at: slot)?.name ?? "?"
            return (
                path.isEmpty ? "\(property)?" : "\(path).\(property)?", schema?.entity(named: name)
            )
        }
    }
}

extension QueryNode.Comparison {
    var symbol: String {
        switch self {
        case .equal: "=="
        case .notEqual: "!="
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        }
    }
}

extension QueryNode.Aggregate {
    fileprivate var word: String {
        switch self {
        case .sum: "sum"
        case .average: "average"
        case .least: "min"
        case .greatest: "max"
        }
    }
}

extension QueryNode.Arithmetic {
    fileprivate var symbol: String {
        switch self {
        case .add: "+"
        case .subtract: "-"
        case .multiply: "*"
        case .divide: "/"
        case .remainder: "%"
        }
    }
}

extension QueryNode.TextSearch {
    fileprivate var words: String {
        switch self {
        case .prefix: "begins with"
        case .suffix: "ends with"
        case .anywhere: "contains"
        }
    }
}

extension TextFolding {
    fileprivate var words: String {
        (contains(.caseInsensitive) ? " without case" : "")
            + (contains(.diacriticInsensitive) ? " without accents" : "")
    }
}
