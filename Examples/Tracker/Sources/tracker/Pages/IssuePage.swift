import Foundation
import Hummingbird
import Markup
import Stet

/// An issue with the form that edits it, its comments and its history.
struct IssuePage {
    struct Remark {
        let author: String?
        let text: String
        let created: Date
    }

    let key: String
    let id: ObjectID
    let project: (key: String, name: String)
    let fields: FieldValues
    let revision: Revision
    let comments: [Remark]
    let people: [User.Snapshot]
    let history: [HistoryEntry]
    let user: User.Snapshot?
    /// The issue as it was, of which the history is shown.
    let past: PastIssue?
    /// The text that was refused, with its errors; nil to show the stored values.
    var form: Form?
    var newComment = Form()

    // The position is that of the change to show, the first one being 1.
    init(_ store: Store, _ name: String, user: User.Snapshot?, position: Int? = nil) throws {
        let people = try store.fetch(User.self).sorted(by: \.name).all()
        let state = try store.read(issue: name) { issue in
            let comments = issue.comments.sorted { ($0.created, $0.id) < ($1.created, $1.id) }
            return (
                issue.id, issue.key, (issue.project?.key ?? "", issue.project?.name ?? ""),
                issue.fields,
                comments.map {
                    Remark(author: $0.author?.name, text: $0.text, created: $0.created)
                }
            )
        }
        ((id, key, project, fields, comments), revision) = state
        self.people = people
        self.user = user
        history = try store.history(ofIssue: key)
        past = try PastIssue(store, id, history, position, people)
    }

    var events: String { "/projects/\(project.key)/events?after=\(revision)" }

    var html: HTML {
        """
        <div class="title"><h1><span class="key">\(key)</span> <bdi>\(fields[.title]?.text ?? "")</bdi></h1></div>
        <div class="issue">
        <section id="edit" aria-label="Fields" data-live>
        \(user == nil ? fieldList : editForm)
        </section>
        <section id="comments" aria-labelledby="comments-title">
        <h2 id="comments-title">Comments</h2>
        <div id="comment-list" data-live>\(commentList)</div>
        \(user == nil ? nil : commentForm)
        </section>
        <section id="history" aria-labelledby="history-title">
        <h2 id="history-title">History</h2>
        \(past?.html(canEdit: user != nil, issue: key))
        <div id="history-list" data-live>\(historyList)</div>
        </section>
        </div>
        """
    }

    // MARK: Fields

    private var fieldList: HTML {
        let rows = Field.allCases.dropFirst().map { field -> HTML in
            "<dt>\(field.caption)</dt><dd dir=\"auto\">\((fields[field] ?? .null).shown(field, people))</dd>"
        }
        return "<dl>\(rows)</dl>"
    }

    private var editForm: HTML {
        let form = form ?? Form(texts: fields.texts, errors: [:])
        return """
            <form method="post" action="/issues/\(key)" novalidate data-guard>
            \(form.summary("The issue was not saved.", captions: Field.captions))
            <input type="hidden" name="revision" value="\(form.texts["revision"] ?? "\(revision)")">
            \(form.inputs(people: people, hint: blame))
            <button class="primary">Save</button>
            </form>
            <form method="post" action="/issues/\(key)/delete"><button class="quiet">Delete \(key)</button></form>
            """
    }

    /// Returns the author and the age of the value of a field.
    private func blame(_ field: Field) -> HTML? {
        history.lastChanges[field].map {
            "by <bdi>\($0.author ?? "somebody")</bdi>, \(age(of: $0.time))"
        }
    }

    // MARK: Comments

    private var commentList: HTML {
        guard !comments.isEmpty else { return "<p class=\"empty\">Nobody has commented yet.</p>" }
        let items = comments.map { comment -> HTML in
            """
            <li><p class="meta"><bdi>\(comment.author ?? "somebody")</bdi>, \(age(of: comment.created))</p>
            <p class="text" dir="auto">\(comment.text)</p></li>
            """
        }
        return "<ol class=\"comments\">\(items)</ol>"
    }

    private var commentForm: HTML {
        """
        <form method="post" action="/issues/\(key)/comments" novalidate data-guard>
        \(newComment.summary("The comment was not saved.", captions: [("text", "Comment")]))
        \(newComment.area("text", "Comment", rows: 3))
        <button>Comment</button>
        </form>
        """
    }

    // MARK: History

    private var historyList: HTML {
        let items = history.enumerated().map { offset, entry -> HTML in
            let position = history.count - offset
            let changes = entry.changes.compactMap { $0.html(people, isFirst: position == 1) }
            return """
                <li><p class="meta"><a href="?at=\(position)#history">Revision \(entry.revision)</a>,
                <bdi>\(entry.author ?? "somebody")</bdi>, \(age(of: entry.time))\(entry.note)</p>
                <ul>\(changes)</ul></li>
                """
        }
        return "<ol class=\"history\" reversed>\(items)</ol>"
    }
}

extension HistoryEntry {
    /// The cause of the commit, unless it is an edit.
    fileprivate var note: HTML? { cause == "edit" ? nil : " (\(cause))" }
}

extension HistoryEntry.Change {
    fileprivate func html(_ people: [User.Snapshot], isFirst: Bool) -> HTML? {
        if isRedacted { return "<li>\(field.caption): removed</li>" }
        if field == .labels {
            let parts = [(old, "without"), (new, "with")].filter { $0.0 != .list([]) }
            let text = parts.map { "\($0.1) \($0.0.shown(field, people))" }.joined(separator: ", ")
            return "<li>\(field.caption): <bdi>\(text)</bdi></li>"
        }
        if isFirst {
            if new == .null || new == .text("") { return nil }
            return "<li>\(field.caption): <bdi>\(new.excerpt(field, people))</bdi></li>"
        }
        return """
            <li>\(field.caption): <del><bdi>\(old.excerpt(field, people))</bdi></del>
            <span class="unseen">became</span> <ins><bdi>\(new.excerpt(field, people))</bdi></ins></li>
            """
    }
}
