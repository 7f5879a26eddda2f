import Hummingbird
import Markup

/// The objects of an entity that satisfy a condition, as a table.
struct EntityPage {
    let entity: StoreDescription.Entity
    let condition: String
    let sort: String
    let asOf: String
    let offset: Int

    init(entity: StoreDescription.Entity, _ request: Request) throws {
        let parameters = request.form
        self.entity = entity
        condition = parameters["where"] ?? ""
        sort = parameters["sort"] ?? ""
        asOf = parameters["as-of"] ?? ""
        offset = max(parameters["offset"].flatMap { Int($0) } ?? 0, 0)
    }

    /// The condition for the tool, if there is one.
    var conditions: [String] { condition.allSatisfy(\.isWhitespace) ? [] : [condition] }

    func options(limit: Int) -> [String] {
        var options = ["--limit=\(limit)", "--offset=\(offset)"]
        if !sort.isEmpty { options.append("--sort=\(sort)") }
        if !asOf.isEmpty { options.append("--as-of=\(asOf)") }
        return options
    }

    func html(_ objects: [JSONValue], _ values: Values, problem: String? = nil) -> HTML {
        let shown = objects.prefix(Inspector.rowCount)
        let count = shown.isEmpty ? "" : "\(offset + 1) to \(offset + shown.count)"
        return """
            <h1>\(entity.name)</h1>
            \(form(problem))
            <p class="count" role="status">\(shown.isEmpty ? "No objects." : "Objects \(count)" as HTML)</p>
            \(shown.isEmpty ? nil : table(shown, values))
            \(pages(hasMore: objects.count > shown.count))
            """
    }

    private func form(_ problem: String?) -> HTML {
        let names = entity.properties.map(\.name)
        let options = ([""] + names + names.map { "-\($0)" }).map { name -> HTML in
            let caption = name.isEmpty ? "as stored" : name.replacing("-", with: "descending ")
            return "<option value=\"\(name)\"\("selected", if: name == sort)>\(caption)</option>"
        }
        let described: HTML = problem == nil ? "where-hint" : "where-error where-hint"
        return """
            <form method="get" role="search" aria-label="Objects">
            <div class="field wide">
            <label for="where">Condition</label>
            <input id="where" name="where" value="\(condition)" spellcheck="false" autocapitalize="off" aria-describedby="\(described)"\(problem == nil ? nil : " aria-invalid=\"true\"" as HTML)>
            \(problem.map { "<p class=\"error\" id=\"where-error\">\($0)</p>" as HTML })
            <p class="hint" id="where-hint">Such as <code>\(example)</code>, in the language of <code>stet query</code>.</p>
            </div>
            <div class="field"><label for="sort">Sort by</label><select id="sort" name="sort">\(options)</select></div>
            <div class="field"><label for="as-of">As of</label><input id="as-of" name="as-of" value="\(asOf)" placeholder="now"></div>
            <button>Show</button>
            </form>
            """
    }

    /// A condition that this entity can satisfy.
    private var example: String {
        entity.properties.first { $0.type == "string" }.map { "\($0.name) contains[c] \"a\"" }
            ?? entity.properties.first.map { "\($0.name) != nil" } ?? "true"
    }

    private func table(_ objects: some Sequence<JSONValue>, _ values: Values) -> HTML {
        let columns =
            entity.properties.map(\.name)
            + entity.relationships.map(\.name).filter { name in
                objects.contains { $0["values"].members[name] != nil }
            }
        let head = columns.map { "<th scope=\"col\">\($0)</th>" as HTML }
        let rows = objects.map { object -> HTML in
            let id = object["id"].text ?? ""
            let cells = columns.map {
                "<td>\(values.value(object["values"][$0], of: $0, entity.name))</td>" as HTML
            }
            return """
                <tr><th scope="row"><a href="/objects/\(id)" title="\(id)"><code>…\(id.suffix(8))</code></a></th>\(cells)</tr>
                """
        }
        return """
            <div class="scroll" data-scrolls role="region" aria-label="Objects of \(entity.name)" tabindex="0">
            <table class="objects"><thead><tr><th scope="col">id</th>\(head)</tr></thead><tbody>\(rows)</tbody></table>
            </div>
            """
    }

    private func pages(hasMore: Bool) -> HTML {
        func link(_ offset: Int, _ caption: HTML) -> HTML {
            let path = address(
                "/entities/\(entity.name)",
                [
                    "where": condition, "sort": sort, "as-of": asOf,
                    "offset": offset == 0 ? "" : "\(offset)",
                ])
            return "<a class=\"button\" href=\"\(path)\">\(caption)</a>"
        }
        let count = Inspector.rowCount
        return """
            <p class="pages">\(offset > 0 ? link(max(offset - count, 0), "Previous \(count)") : nil)
            \(hasMore ? link(offset + count, "Next \(count)") : nil)</p>
            """
    }
}
