import Foundation
import HTTPTypes
import Hummingbird
import Markup
import NIOCore
import Stet

/// The service for programs, below `/api`.
struct API {
    let store: Store
    private let lists = RevisionCache()

    init(store: Store) { self.store = store }

    func add(to router: RouterGroup<TrackerContext>) {
        router.get("users") { _, _ in try store.fetch(User.self).sorted(by: \.name).all() }
        router.post("users", use: createUser)
        router.get("projects") { _, _ in try store.fetch(Project.self).sorted(by: \.key).all() }
        router.post("projects", use: createProject)
        router.get("labels") { _, _ in try store.fetch(Label.self).sorted(by: \.name).all() }
        router.get("projects/:key/issues", use: issues)
        router.post("projects/:key/issues", use: createIssue)
        router.get("issues/:issue", use: issue)
        router.patch("issues/:issue", use: editIssue)
        router.delete("issues/:issue", use: deleteIssue)
        router.get("issues/:issue/comments", use: comments)
        router.post("issues/:issue/comments", use: comment)
        router.get("issues/:issue/history", use: history)
        router.get("issues/:issue/blame", use: blame)
        router.get("undo", use: undoPreview)
        router.post("undo", use: undo)
        router.post("redo", use: redo)
        router.get("events", use: events)
    }

    @Sendable private func createUser(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        let new = try await request.decode(as: NewUser.self, context: context)
        let author = context.user?.id.description
        let (user, commit) = try await store.edit("add a person", author: author) { context in
            let user = User(name: new.name, email: new.email)
            context.insert(user)
            return user
        }
        return try created(user, "users/\(user.id)", commit?.revision, request, context)
    }

    @Sendable private func createProject(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        let new = try await request.decode(as: NewProject.self, context: context)
        let author = try context.requireUser().description
        let (project, commit) = try await store.edit("add project \(new.key)", author: author) {
            context in
            let project = Project(key: new.key, name: new.name)
            context.insert(project)
            return project
        }
        return try created(
            project, "projects/\(project.key)", commit?.revision, request, context)
    }

    // MARK: Issues

    @Sendable private func issues(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        let address = request.uri.string
        let last = try store.revision()
        if try revision(ofTag: request.headers[.ifNoneMatch]) == last {
            return Response(status: .notModified, headers: [.eTag: entityTag(last)])
        }
        if let body = lists.body(for: address, at: last) { return list(body, last) }
        let (page, revision) = try store.read { try self.page(of: $0, request, context) }
        let body = ByteBuffer(data: try context.responseEncoder.encode(page))
        lists.keep(body, for: address, at: revision)
        return list(body, revision)
    }

    private func list(_ body: ByteBuffer, _ revision: Revision) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "application/json; charset=utf-8", .eTag: entityTag(revision)],
            body: .init(byteBuffer: body))
    }

    private func page(
        of context: ManagedContext, _ request: Request, _ requestContext: TrackerContext
    ) throws -> (Page<IssueBody>, Revision) {
        let parameters = request.form
        let cursor = try parameters["after"].map { text in
            guard let cursor = QueryCursor(text) else {
                throw HTTPError(.badRequest, message: "This is not a cursor of the service.")
            }
            return cursor
        }
        let count = min(max(parameters["limit"].flatMap { Int($0) } ?? 20, 1), 100)
        let order = parameters["sort"] ?? "number"
        let project = try context.project(try requestContext.parameters.require("key")).id
        guard let query = try IssueFilter(parameters).query(in: context, project: project) else {
            return (Page(items: [], next: nil, total: 0), context.revision)
        }
        guard let sorted = query.sorted(byKeys: order) else {
            throw HTTPError(.badRequest, message: "Issues can't be sorted by \(order).")
        }
        let (issues, next) = try sorted.prefetch(\.assignee).prefetch(\.reporter)
            .prefetch(\.labels).objects(count, after: cursor)
        let total = parameters["total"] == "true" ? try query.count() : nil
        let page = Page(items: issues.map(IssueBody.init), next: next, total: total)
        return (page, context.revision)
    }

    @Sendable private func createIssue(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        let fields = try await request.decode(as: FieldValues.self, context: context)
        let key = try await store.createIssue(
            in: try context.parameters.require("key"), fields, by: try context.requireUser())
        let (body, revision) = try store.read(issue: key, IssueBody.init)
        return try created(body, "issues/\(key)", revision, request, context)
    }

    @Sendable private func issue(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        let known = try revision(ofTag: request.headers[.ifNoneMatch])
        let (body, revision) = try store.read(issue: try context.parameters.require("issue")) {
            issue in
            // Not modified if no commit since the known revision concerns the issue.
            if let known, let context = issue.context, known <= context.revision,
                try context.conflict(of: issue, since: known) == nil
            {
                return IssueBody?.none
            }
            return IssueBody(issue)
        }
        guard let body else {
            return Response(status: .notModified, headers: [.eTag: entityTag(known ?? revision)])
        }
        return try answer(body, revision, request, context)
    }

    @Sendable private func editIssue(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        let name = try context.parameters.require("issue")
        let fields = try await request.decode(as: FieldValues.self, context: context)
        try await store.editIssue(
            name, fields, since: try revision(ofTag: request.headers[.ifMatch]), .unchanged,
            by: try context.requireUser())
        let (body, revision) = try store.read(issue: name, IssueBody.init)
        return try answer(body, revision, request, context)
    }

    @Sendable private func deleteIssue(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        try await store.deleteIssue(
            try context.parameters.require("issue"),
            since: try revision(ofTag: request.headers[.ifMatch]), by: try context.requireUser())
        return Response(status: .noContent)
    }

    @Sendable private func comments(_ request: Request, _ context: TrackerContext) async throws
        -> [Comment.Snapshot]
    {
        let id = try store.read(issue: try context.parameters.require("issue")) { $0.id }.0
        return try store.fetch(Comment.self) { $0.issue?.id == id }.sorted(by: \.created).all()
    }

    @Sendable private func comment(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        let new = try await request.decode(as: NewComment.self, context: context)
        let name = try context.parameters.require("issue")
        let comment = try await store.comment(on: name, new.text, by: try context.requireUser())
        return try created(comment, "issues/\(name)/comments", nil, request, context)
    }

    // MARK: History and undo

    @Sendable private func history(_ request: Request, _ context: TrackerContext) async throws
        -> [HistoryEntry]
    {
        try store.history(ofIssue: try context.parameters.require("issue"))
    }

    /// Answers with the last change of each field.
    @Sendable private func blame(_ request: Request, _ context: TrackerContext) async throws
        -> [Field: HistoryEntry]
    {
        try store.history(ofIssue: try context.parameters.require("issue")).lastChanges
    }

    @Sendable private func undoPreview(_ request: Request, _ context: TrackerContext) async throws
        -> UndoBody
    {
        try store.undoBody(of: try context.requireUser())
    }

    @Sendable private func undo(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        let policy = UndoPolicy(named: request.uri.queryParameters["policy"])
        let commit = try await store.undo(
            author: try context.requireUser().description, policy: policy)
        return try commit.map { try CommitBody($0).response(from: request, context: context) }
            ?? Response(status: .noContent)
    }

    @Sendable private func redo(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        let policy = UndoPolicy(named: request.uri.queryParameters["policy"])
        let commit = try await store.redo(
            author: try context.requireUser().description, policy: policy)
        return try commit.map { try CommitBody($0).response(from: request, context: context) }
            ?? Response(status: .noContent)
    }

    @Sendable private func events(_ request: Request, _ context: TrackerContext) async throws
        -> Response
    {
        let encoder = context.responseEncoder
        return EventStream(store: store).response(to: request) { commit in
            String(decoding: try encoder.encode(CommitBody(commit)), as: UTF8.self)
        }
    }
}

extension API {
    private func answer(
        _ body: some Encodable, _ revision: Revision?, _ request: Request,
        _ context: TrackerContext, status: HTTPResponse.Status = .ok
    ) throws -> Response {
        var response = try context.responseEncoder.encode(body, from: request, context: context)
        response.status = status
        response.headers[.eTag] = revision.map(entityTag)
        return response
    }

    private func created(
        _ body: some Encodable, _ path: String, _ revision: Revision?, _ request: Request,
        _ context: TrackerContext
    ) throws -> Response {
        var response = try answer(body, revision, request, context, status: .created)
        response.headers[.location] = "/api/\(path)"
        return response
    }
}

extension [HistoryEntry] {
    /// The last change of each field, from a history with the latest change first.
    var lastChanges: [Field: HistoryEntry] {
        var last: [Field: HistoryEntry] = [:]
        for entry in self {
            for change in entry.changes where last[change.field] == nil {
                last[change.field] = entry
            }
        }
        return last
    }
}
