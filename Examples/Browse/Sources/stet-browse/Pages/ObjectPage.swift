import Markup

/// An object: its values with who gave them, what leads to it, and its history.
struct ObjectPage {
    let object: JSONValue
    let blame: [JSONValue]
    let values: Values
    let name: String?

    private var entity: String { object["entity"].text ?? "" }
    private var id: String { object["id"].text ?? "" }
    private var description: StoreDescription.Entity? { values.description[entity] }
    private var isDeleted: Bool { object["values"] == .null }

    var title: String { name ?? "\(entity) …\(id.suffix(8))" }

    var html: HTML {
        """
        <p class="path"><a href="/entities/\(entity)">\(entity)</a></p>
        <h1 dir="auto">\(title)</h1>
        <p class="meta"><code>\(id)</code>\(isDeleted ? ", deleted" : nil)</p>
        \(isDeleted ? nil : valueTable)
        \(referrers)
        <section aria-labelledby="history"><h2 id="history">History</h2>\(history)</section>
        """
    }

    private var valueTable: HTML {
        let order =
            (description?.properties.map(\.name) ?? [])
            + (description?.relationships.map(\.name) ?? [])
        let rows = order.filter { object["values"].members[$0] != nil }.map { name -> HTML in
            let origin = blame.first { $0["property"].text == name }
            let who: HTML? = origin.map { origin in
                let revision = origin["revision"].description
                return """
                    <a href="/revisions/\(revision)">revision \(revision)</a>
                    \(values.author(origin["author"])) \(time(origin["time"]))
                    """
            }
            let value = values.value(object["values"][name], of: name, entity, isWhole: true)
            return """
                <tr><th scope="row">\(name)</th><td class="value" dir="auto">\(value)</td><td class="meta">\(who)</td></tr>
                """
        }
        return """
            <section aria-labelledby="values"><h2 id="values">Values, and who gave them</h2>
            <div class="scroll" data-scrolls role="region" aria-label="Values" tabindex="0">
            <table><thead><tr><th scope="col">property</th><th scope="col">value</th><th scope="col">since</th></tr></thead>
            <tbody>\(rows)</tbody></table>
            </div></section>
            """
    }

    private var referrers: HTML? {
        let links = values.description.referrers(to: entity).map { entity, property -> HTML in
            let path = address(
                "/entities/\(entity)", ["where": "\(property) == \"\(id)\""])
            return "<li><a href=\"\(path)\">\(entity) whose \(property) is this object</a></li>"
        }
        guard !links.isEmpty, !isDeleted else { return nil }
        return """
            <section aria-labelledby="referrers"><h2 id="referrers">What refers to it</h2>
            <ul>\(links)</ul></section>
            """
    }

    private var history: HTML {
        let items = object["history"].list.map { entry -> HTML in
            let revision = entry["revision"].description
            return """
                <li><p class="meta"><a href="/revisions/\(revision)">Revision \(revision)</a>,
                \(entry["kind"].text ?? "update"), \(time(entry["time"]))\
                \(entry["label"].text.map { ", “\($0)”" as HTML })</p>
                \(values.changes(entry, of: entity))</li>
                """
        }
        return items.isEmpty
            ? "<p class=\"empty\">The journal no longer has it.</p>"
            : "<ol class=\"commits\">\(items)</ol>"
    }
}
