import Foundation
import HTTPTypes
import Hummingbird
import Markup

/// The pages of the inspector.
struct Inspector {
    let tool: Tool
    /// True if the pages may undo and redo.
    let mayWrite: Bool

    static let rowCount = 50

    func add(to router: Router<InspectorContext>) {
        router.get("/", use: overview)
        router.get("entities/:entity", use: entity)
        router.get("objects/:id", use: object)
        router.get("timeline", use: timeline)
        router.get("revisions/:revision", use: revision)
        router.get("diff", use: diff)
        router.get("undo", use: undo)
        router.post("undo", use: performUndo)
    }

    func show(_ title: String, _ main: HTML, status: HTTPResponse.Status = .ok) -> Response {
        Shell(title: title, store: tool.store).page(main).response(status: status)
    }

    // MARK: The store and its entities

    @Sendable private func overview(_ request: Request, _ context: InspectorContext) async throws
        -> Response
    {
        let description = try await tool.describe()
        let info = description.info
        let rows = description.entities.map { entity -> HTML in
            let properties = entity.properties.map { property -> HTML in
                let type = property.target ?? property.type
                let rules = property.rules.joined(separator: " ")
                return
                    "<li>\(property.name): \(type)\(property.isOptional ? "?" : "") <span class=\"rules\">\(rules)</span></li>"
            }
            let members = entity.relationships.map {
                "<li>\($0.name): many \($0.target)</li>" as HTML
            }
            let indexes = entity.indexes.map { "<li>\($0)</li>" as HTML }
            return """
                <section aria-labelledby="e-\(entity.name)">
                <h2 id="e-\(entity.name)"><a href="/entities/\(entity.name)">\(entity.name)</a> <span class="count">\(entity.recordCount)</span></h2>
                <ul class="properties">\(properties)\(members)\(indexes)</ul>
                </section>
                """
        }
        let facts: [(String, HTML)] = [
            (
                "Last commit",
                "<a href=\"/revisions/\(description.revision)\">revision \(description.revision)</a>, \(time(info["time"]))"
            ),
            ("Commits", "\(info["commitCount"].description)"),
            ("Used", bytes(info["usedByteCount"])), ("Journal", bytes(info["journalByteCount"])),
            ("Readers", "\(info["readers"].list.count) of \(info["readerLimit"].description)"),
            (
                "Hash of the history",
                "<code>\(info["hash"].text?.prefix(16).description ?? "")…</code>"
            ),
        ]
        return show(
            "Entities",
            """
            <h1>Entities</h1>
            <dl class="facts">\(facts.map { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" as HTML })</dl>
            \(description.entities.isEmpty ? "<p class=\"empty\">The store has no entities.</p>" : "<div class=\"entities\">\(rows)</div>")
            """)
    }

    @Sendable private func entity(_ request: Request, _ context: InspectorContext) async throws
        -> Response
    {
        let name = try context.parameters.require("entity")
        let description = try await tool.describe()
        let page = try EntityPage(
            entity: description[name].orThrow("There is no entity \(name) in the store."),
            request)
        do {
            let objects = try await tool.run(
                "query", options: page.options(limit: Self.rowCount + 1),
                [name] + page.conditions
            ).lines
            let values = try await names(
                description, of: objects.map { (name, nil, $0["values"]) })
            return show(name, page.html(objects, values))
        } catch let failure as Tool.Failure where failure.status == 400 {
            // A condition that cannot be read comes back with what is wrong with it.
            let values = Values(description: description)
            return show(name, page.html([], values, problem: failure.message), status: .badRequest)
        }
    }

    @Sendable private func object(_ request: Request, _ context: InspectorContext) async throws
        -> Response
    {
        let id = try context.parameters.require("id")
        let description = try await tool.describe()
        let object = try await tool.run("show", [id]).first
        let entity = object["entity"].text ?? ""
        let blame = try await tool.run("blame", [id]).lines
        let past = object["history"].list.prefix(ChangeList.limit).map {
            (entity, String?.none, JSONValue.object($0.idsOfChange))
        }
        var values = try await names(description, of: [(entity, nil, object["values"])] + past)
        try await addAuthors(blame.map { $0["author"] }, to: &values)
        let page = ObjectPage(
            object: object, blame: blame, values: values,
            name: name(of: object, description, limit: 200))
        return show(page.title, page.html)
    }

    // MARK: Commits

    @Sendable private func timeline(_ request: Request, _ context: InspectorContext) async throws
        -> Response
    {
        let author = request.form["author"] ?? ""
        let before = request.form["before"].flatMap { Int($0) }
        var options = ["--limit=\(Self.rowCount + 1)"]
        if let before { options.append("--to=\(max(before - 1, 0))") }
        if !author.isEmpty { options.append("--author=\(author)") }
        let commits = before == 1 ? [] : try await tool.run("log", options: options).lines
        var values = Values(description: try await tool.describe())
        try await addAuthors(commits.map { $0["author"] }, to: &values)
        let page = TimelinePage(commits: commits, author: author, values: values)
        return show("Timeline", page.html)
    }

    @Sendable private func revision(_ request: Request, _ context: InspectorContext) async throws
        -> Response
    {
        let revision = try context.parameters.require("revision", as: Int.self)
        let description = try await tool.describe()
        let commit = try await tool.run("show", ["\(revision)"]).first
        let changes = commit["changes"].list
        var values = try await changeNames(description, changes)
        try await addAuthors([commit["author"]], to: &values)
        let page = RevisionPage(commit: commit, values: values)
        return show("Revision \(revision)", page.html)
    }

    @Sendable private func diff(_ request: Request, _ context: InspectorContext) async throws
        -> Response
    {
        let description = try await tool.describe()
        let last = description.revision
        let parameters = request.form
        let to = parameters["to"].flatMap { Int($0) } ?? last
        let from = parameters["from"].flatMap { Int($0) } ?? max(to - 1, 0)
        let changes = try await tool.run("diff", ["\(from)", "\(to)"]).lines
        let values = try await changeNames(description, changes)
        let page = DiffPage(from: from, to: to, last: last, changes: changes, values: values)
        return show("Revisions \(from) and \(to)", page.html)
    }

    private func changeNames(_ description: StoreDescription, _ changes: [JSONValue]) async throws
        -> Values
    {
        try await names(
            description,
            of: changes.prefix(ChangeList.limit).map {
                let entity = $0["entity"].text ?? ""
                return (entity, $0["id"].text, .object($0.idsOfChange))
            })
    }

    // MARK: Undo

    @Sendable private func undo(_ request: Request, _ context: InspectorContext) async throws
        -> Response
    {
        let author = request.form["author"] ?? ""
        return try await undoPage(author, problem: nil)
    }

    private func undoPage(_ author: String, problem: String?) async throws -> Response {
        let description = try await tool.describe()
        let recent = try await tool.run("log", options: ["--limit=1000"]).lines
        let authors = Set(recent.compactMap { $0["author"].text }).sorted()
        var values = Values(description: description)
        try await addAuthors(authors.map { .text($0) }, to: &values)
        var steps: [UndoPage.Step] = []
        for action in author.isEmpty ? [] : ["undo", "redo"] {
            let result = try await tool.run(action, options: ["--dry-run", "--author=\(author)"])
            let plan = result.isClean ? result.lines.first : nil
            steps.append(
                UndoPage.Step(
                    action: action, label: plan?["label"].text,
                    changes: plan?["changes"].list ?? [],
                    problems: result.isClean ? [] : result.lines.map(UndoPage.sentence)))
        }
        let shown = try await changeNames(description, steps.flatMap(\.changes))
        values.names.merge(shown.names) { one, _ in one }
        let page = UndoPage(
            authors: authors, author: author, steps: steps, values: values, mayWrite: mayWrite,
            problem: problem)
        return show("Undo", page.html, status: problem == nil ? .ok : .conflict)
    }

    @Sendable private func performUndo(_ request: Request, _ context: InspectorContext) async throws
        -> Response
    {
        guard mayWrite else {
            throw HTTPError(.forbidden, message: "Start stet-browse with --write to undo.")
        }
        let form = try await URLEncodedFormDecoder().decode(
            [String: String].self, from: request, context: context)
        guard let author = form["author"], let action = form["action"],
            ["undo", "redo"].contains(action)
        else { throw HTTPError(.badRequest, message: "The form is not complete.") }
        do {
            // The page says that the tool cannot run validators in code, and so does the commit.
            let result = try await tool.run(
                action, options: ["--author=\(author)", "--without-validators"])
            if !result.isClean {
                let messages = result.lines.map(UndoPage.sentence)
                return try await undoPage(author, problem: messages.joined(separator: " "))
            }
        } catch let failure as Tool.Failure {
            return try await undoPage(author, problem: "\(failure.message) \(failure.advice ?? "")")
        }
        return Response(
            status: .seeOther, headers: [.location: address("/undo", ["author": author])])
    }
}

extension Optional {
    fileprivate func orThrow(_ message: String) throws -> Wrapped {
        guard let self else { throw HTTPError(.notFound, message: message) }
        return self
    }
}

/// A time of the tool, to the second.
func time(_ value: JSONValue) -> HTML {
    guard let text = value.text else { return "" }
    let short = text.prefix(19).replacing("T", with: " ")
    return "<time datetime=\"\(text)\">\(short)</time>"
}

/// A number of bytes, for people.
func bytes(_ value: JSONValue) -> HTML {
    let count = value.integer ?? 0
    return switch count {
    case ..<1_024: "\(count) B"
    case ..<(1 << 20): "\(count >> 10) KiB"
    default: "\(count >> 20) MiB"
    }
}
