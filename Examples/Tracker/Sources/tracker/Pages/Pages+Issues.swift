import Foundation
import HTTPTypes
import Hummingbird
import Markup
import Stet

extension Pages {
    // MARK: New issues

    @Sendable func newIssue(_ request: Request, _ context: TrackerContext) async throws -> Response
    {
        var form = Form()
        form.texts = ["state": "open", "priority": "normal"]
        return try show(newIssue: form, context)
    }

    @Sendable func addIssue(_ request: Request, _ context: TrackerContext) async throws -> Response
    {
        let author = try context.requireUser()
        var form = try await Form.decode(request, context)
        do {
            let key = try await store.createIssue(
                in: try context.parameters.require("key"), form.fields(), by: author)
            return .seeOther("/issues/\(key)")
        } catch let error as ValidationError {
            form.add(error, inputs: Field.inputs)
            return try show(newIssue: form, context, status: .unprocessableContent)
        }
    }

    private func show(
        newIssue form: Form, _ context: TrackerContext, status: HTTPResponse.Status = .ok
    ) throws -> Response {
        let key = try context.parameters.require("key")
        guard let project = try store.fetch(Project.self, where: { $0.key == key }).first() else {
            throw NotFound("project")
        }
        let people = try store.fetch(User.self).sorted(by: \.name).all()
        var shell = try Shell(
            title: "New issue", user: context.user, store: store, path: "/projects/\(key)/new")
        shell.project = (project.key, project.name)
        return shell.page(
            """
            <h1>New issue</h1>
            <form method="post" action="/projects/\(key)/issues" novalidate>
            \(form.summary("The issue was not added.", captions: Field.captions))
            \(form.inputs(people: people))
            <button class="primary">Add the issue</button>
            </form>
            """
        ).response(status: status)
    }

    // MARK: An issue

    @Sendable func issue(_ request: Request, _ context: TrackerContext) async throws -> Response {
        let position = request.uri.queryParameters.get("at", as: Int.self)
        return try show(
            IssuePage(store, try name(context), user: context.user, position: position), context)
    }

    /// Saves the form.
    ///
    /// Fields that nobody else has changed are merged with the changes of others; for a field that
    /// both have changed, and for what is not valid, the form comes back with its text.
    @Sendable func save(_ request: Request, _ context: TrackerContext) async throws -> Response {
        let form = try await Form.decode(request, context)
        return try await edit(form, context) { issue in "/issues/\(issue)" }
    }

    @Sendable func move(_ request: Request, _ context: TrackerContext) async throws -> Response {
        let form = try await Form.decode(request, context)
        return try await edit(form, context) { issue in
            "/projects/\(issue.prefix(while: { $0 != "-" }))#\(issue)"
        }
    }

    private func edit(
        _ form: Form, _ context: TrackerContext, then path: (String) -> String
    ) async throws -> Response {
        let author = try context.requireUser()
        let (issue, _) = try store.read(issue: try name(context)) { ($0.id, $0.key) }
        let base = UInt64(form["revision"]).map { Revision($0) }
        let before = try base.map { try store.fields(of: issue.0, at: $0) } ?? [:]
        do {
            let fields = form.fields(differingFrom: before)
            if !fields.isEmpty {
                try await store.editIssue(issue.1, fields, since: base, by: author)
            }
            return .seeOther(path(issue.1))
        } catch {
            var page = try IssuePage(store, issue.1, user: context.user)
            // A move sends one field: the others are as they are stored.
            var refused = Form(texts: page.fields.texts.merging(form.texts) { $1 })
            switch error {
            case let error as ValidationError:
                refused.add(error, inputs: Field.inputs)
                page.form = refused
                return try show(page, context, status: .unprocessableContent)
            case let error as StaleEdit:
                refused.add(error, people: page.people)
                page.form = refused
                return try show(page, context, status: .preconditionFailed)
            default: throw error
            }
        }
    }

    @Sendable func delete(_ request: Request, _ context: TrackerContext) async throws -> Response {
        let issue = try name(context)
        let project = try store.read(issue: issue) { $0.project?.key ?? "" }.0
        try await store.deleteIssue(issue, since: nil, by: try context.requireUser())
        return .seeOther("/projects/\(project)")
    }

    @Sendable func comment(_ request: Request, _ context: TrackerContext) async throws -> Response {
        var form = try await Form.decode(request, context)
        let issue = try name(context)
        do {
            let text = form["text"].replacing("\r\n", with: "\n")
            _ = try await store.comment(on: issue, text, by: try context.requireUser())
            return .seeOther("/issues/\(issue)#comments")
        } catch let error as ValidationError {
            form.add(error, inputs: ["text"])
            var page = try IssuePage(store, issue, user: context.user)
            page.newComment = form
            return try show(page, context, status: .unprocessableContent)
        }
    }

    @Sendable func revert(_ request: Request, _ context: TrackerContext) async throws -> Response {
        let form = try await Form.decode(request, context)
        guard let number = UInt64(form["revision"]) else { throw NotFound("revision") }
        let author = try context.requireUser().description
        let issue = try name(context)
        do {
            try await store.revert(Revision(number), author: author)
            return .seeOther("/issues/\(issue)#history")
        } catch let error as UndoConflictError {
            var page = try IssuePage(store, issue, user: context.user)
            var form = Form(texts: page.fields.texts)
            form.errors[""] = error.conflicts.map { "\($0.description)" }
            page.form = form
            return try show(page, context, status: .conflict)
        }
    }

    private func show(
        _ page: IssuePage, _ context: TrackerContext, status: HTTPResponse.Status = .ok
    ) throws -> Response {
        var shell = try Shell(
            title: "\(page.key) \(page.fields[.title]?.text ?? "")", user: context.user,
            store: store, path: "/issues/\(page.key)")
        shell.project = page.project
        // A page with refused text is not exchanged under the hands of the person.
        shell.events = page.events
        return shell.page(page.html).response(status: status)
    }

    private func name(_ context: TrackerContext) throws -> String {
        try context.parameters.require("issue")
    }
}
