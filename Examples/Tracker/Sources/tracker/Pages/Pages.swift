import Foundation
import HTTPTypes
import Hummingbird
import Markup
import Stet

/// The service for people: pages that work without scripts, and stay up to date with them.
struct Pages {
    let store: Store

    func add(to router: RouterGroup<TrackerContext>) {
        router.get("", use: home)
        router.post("session", use: signIn)
        router.post("people", use: addPerson)
        router.post("projects", use: addProject)
        router.get("projects/:key", use: board)
        router.get("projects/:key/events", use: events)
        router.get("projects/:key/new", use: newIssue)
        router.post("projects/:key/issues", use: addIssue)
        router.get("issues/:issue", use: issue)
        router.post("issues/:issue", use: save)
        router.post("issues/:issue/move", use: move)
        router.post("issues/:issue/delete", use: delete)
        router.post("issues/:issue/comments", use: comment)
        router.post("issues/:issue/revert", use: revert)
        router.post("undo") { try await step(.undo, $0, $1) }
        router.post("redo") { try await step(.redo, $0, $1) }
    }

    // MARK: Home

    @Sendable private func home(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        try show(HomePage(store, user: context.user), context)
    }

    private func show(
        _ page: HomePage, _ context: TrackerContext, status: HTTPResponse.Status = .ok
    ) throws -> Response {
        try Shell(title: "Projects", user: context.user, store: store).page(page.html)
            .response(status: status)
    }

    @Sendable private func signIn(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        let form = try await Form.decode(request, context)
        guard let id = ObjectID(form["user"]), try store.object(User.self, id: id) != nil else {
            throw NotFound("person")
        }
        return signedIn(id)
    }

    private func signedIn(_ id: ObjectID) -> Response {
        var response = Response.seeOther("/")
        response.setCookie(
            Cookie(
                name: "user", value: id.description, maxAge: 2_592_000, path: "/", httpOnly: true,
                sameSite: .strict))
        return response
    }

    @Sendable private func addPerson(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        var form = try await Form.decode(request, context)
        do {
            let sent = form
            let (user, _) = try await store.edit("add a person") { context in
                let user = User(name: sent["name"], email: sent["email"])
                context.insert(user)
                return user
            }
            return signedIn(user.id)
        } catch let error as ValidationError {
            form.add(error, inputs: ["name", "email"])
            var page = try HomePage(store, user: context.user)
            page.newPerson = form
            return try show(page, context, status: .unprocessableContent)
        }
    }

    @Sendable private func addProject(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        var form = try await Form.decode(request, context)
        let author = try context.requireUser().description
        do {
            let sent = form
            let (project, _) = try await store.edit("add a project", author: author) { context in
                let project = Project(key: sent["key"], name: sent["project-name"])
                context.insert(project)
                return project
            }
            return .seeOther("/projects/\(project.key)")
        } catch let error as ValidationError {
            form.add(error, inputs: ["key"])
            var page = try HomePage(store, user: context.user)
            page.newProject = form
            return try show(page, context, status: .unprocessableContent)
        }
    }

    // MARK: Board

    @Sendable private func board(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        let parameters = request.form
        let board = try Board(
            store, try context.parameters.require("key"), try IssueFilter(parameters),
            query: request.uri.query ?? "",
            after: parameters["after"].flatMap { QueryCursor($0) },
            canEdit: context.user != nil)
        var shell = try Shell(
            title: board.project.name, user: context.user, store: store, path: request.uri.string)
        shell.events = board.events
        return shell.page(board.html).response()
    }

    @Sendable private func events(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        let key = try context.parameters.require("key")
        let encoder = context.responseEncoder
        return EventStream(store: store).response(to: request) { [store] commit in
            try store.boardEvent(commit, project: key).map {
                String(decoding: try encoder.encode($0), as: UTF8.self)
            }
        }
    }

    // MARK: Undo

    private enum Direction { case undo, redo }

    @Sendable private func step(
        _ direction: Direction, _ request: Request, _ context: TrackerContext
    ) async throws -> Response {
        let form = try await Form.decode(request, context)
        let author = try context.requireUser().description
        // Only a place of this service: "//host" would be another one.
        let back = form["back"].hasPrefix("/") && !form["back"].hasPrefix("//") ? form["back"] : "/"
        do {
            let policy = UndoPolicy(named: form["policy"])
            switch direction {
            case .undo: try await store.undo(author: author, policy: policy)
            case .redo: try await store.redo(author: author, policy: policy)
            }
            return .seeOther(back)
        } catch let error as UndoConflictError {
            let page = UndoConflictPage(action: "\(direction)", error: error, back: back)
            return try Shell(
                title: "Not undone", user: context.user, store: store, path: back
            ).page(page.html).response(status: .conflict)
        }
    }
}

extension Response {
    /// Leads a browser to a page after an edit, so that reloading does not repeat the edit.
    static func seeOther(_ path: String) -> Response {
        Response(status: .seeOther, headers: [.location: path])
    }
}

/// The page for an undo that others prevent, with the choice to undo the rest.
struct UndoConflictPage {
    let action: String
    let error: UndoConflictError
    let back: String

    var html: HTML {
        let lines = error.conflicts.map { "<li>\($0.description)</li>" as HTML }
        return """
            <div class="refusal" role="alert">
            <h1>Others have changed this since</h1>
            <ul>\(lines)</ul>
            </div>
            <form method="post" action="/\(action)">
            <input type="hidden" name="back" value="\(back)">
            <button name="policy" value="skip">\(action.capitalized) the rest, and keep what others have changed</button>
            </form>
            <p><a href="\(back)">Leave everything as it is</a></p>
            """
    }
}
