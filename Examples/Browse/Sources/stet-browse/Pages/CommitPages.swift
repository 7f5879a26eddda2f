import Markup

/// The changes of a commit, or between two revisions.
struct ChangeList {
    /// More changes than this are only counted.
    static let limit = 200

    let changes: [JSONValue]
    let values: Values

    var html: HTML {
        guard !changes.isEmpty else { return "<p class=\"empty\">Nothing differs.</p>" }
        let items = changes.prefix(Self.limit).map { change -> HTML in
            let entity = change["entity"].text ?? ""
            let kind = change["kind"].text ?? ""
            return """
                <li><p><span class="kind \(kind)">\(kind)</span> \(entity) \(values.link(change["id"].text ?? ""))</p>
                \(values.changes(change, of: entity))</li>
                """
        }
        let rest = changes.count - items.count
        return """
            <ol class="commits">\(items)</ol>
            \(rest > 0 ? "<p class=\"empty\">\(rest) more changes are not shown; <code>stet</code> writes all of them.</p>" as HTML : nil)
            """
    }
}

/// A commit in one line: its label, author, time and cause.
struct CommitLine {
    let commit: JSONValue
    let values: Values

    var html: HTML {
        let revision = commit["revision"].description
        let cause = commit["cause"].text ?? "edit"
        let subject = commit["subject"].integer
        let note: HTML? =
            cause == "edit"
            ? nil
            : ", \(cause)\(subject.map { " of <a href=\"/revisions/\($0)\">\($0)</a>" as HTML })"
        return """
            <a href="/revisions/\(revision)"><strong>\(revision)</strong>
            <bdi>\(commit["label"].text ?? "without a label")</bdi></a>
            <span class="meta">\(values.author(commit["author"])) \(time(commit["time"])),
            \(commit["changeCount"].description) changed\(note)</span>
            """
    }
}

/// The commits, the latest first.
struct TimelinePage {
    let commits: [JSONValue]
    let author: String
    let values: Values

    var html: HTML {
        let shown = commits.prefix(Inspector.rowCount)
        let items = shown.map { "<li>\(CommitLine(commit: $0, values: values).html)</li>" as HTML }
        let last = shown.last?["revision"].integer ?? 0
        let more = address("/timeline", ["author": author, "before": "\(last)"])
        return """
            <h1>Timeline</h1>
            \(author.isEmpty ? nil : "<p>Of <bdi>\(values.names[author] ?? author)</bdi>. <a href=\"/timeline\">Show everybody</a></p>" as HTML)
            \(items.isEmpty ? "<p class=\"empty\">There are no commits.</p>" : "<ol class=\"timeline\">\(items)</ol>")
            \(commits.count > shown.count ? "<p class=\"pages\"><a class=\"button\" href=\"\(more)\">Earlier commits</a></p>" as HTML : nil)
            """
    }
}

/// A commit with its changes.
struct RevisionPage {
    let commit: JSONValue
    let values: Values

    var html: HTML {
        let revision = commit["revision"].integer ?? 0
        let metadata = commit["metadata"].members.sorted { $0.key < $1.key }.map { name, value in
            "<div><dt>\(name)</dt><dd>\(value.description)</dd></div>" as HTML
        }
        let entities = Set(commit["changes"].list.compactMap { $0["entity"].text }).sorted()
        let states = entities.map { entity -> HTML in
            let path = address("/entities/\(entity)", ["as-of": "\(revision)"])
            return "<li><a href=\"\(path)\">\(entity) as of this revision</a></li>"
        }
        return """
            <h1>Revision \(revision)</h1>
            <p>\(CommitLine(commit: commit, values: values).html)</p>
            <dl class="facts"><div><dt>Hash</dt><dd><code>\(commit["hash"].text ?? "")</code></dd></div>\(metadata)</dl>
            <p class="pages">
            \(revision > 1 ? "<a class=\"button\" href=\"/revisions/\(revision - 1)\">Revision \(revision - 1)</a>" as HTML : nil)
            \(revision < values.description.revision ? "<a class=\"button\" href=\"/revisions/\(revision + 1)\">Revision \(revision + 1)</a>" as HTML : nil)
            <a class="button" href="/diff?from=\(revision)&amp;to=\(values.description.revision)">Since then</a>
            </p>
            <section aria-labelledby="changes"><h2 id="changes">Changes</h2>
            \(ChangeList(changes: commit["changes"].list, values: values).html)</section>
            <section aria-labelledby="states"><h2 id="states">The state that it made</h2><ul>\(states)</ul></section>
            """
    }
}

/// The net difference between two revisions.
struct DiffPage {
    let from: Int
    let to: Int
    let last: Int
    let changes: [JSONValue]
    let values: Values

    var html: HTML {
        """
        <h1>Difference</h1>
        <form method="get" aria-label="Revisions">
        <div class="field"><label for="from">From revision</label>
        <input id="from" name="from" type="number" min="0" max="\(last)" value="\(from)"></div>
        <div class="field"><label for="to">To revision</label>
        <input id="to" name="to" type="number" min="0" max="\(last)" value="\(to)"></div>
        <button>Compare</button>
        </form>
        <section aria-labelledby="changes"><h2 id="changes">\(changes.count) \(changes.count == 1 ? "object differs" : "objects differ")</h2>
        \(ChangeList(changes: changes, values: values).html)</section>
        """
    }
}

/// A preview of undo and redo for an author.
struct UndoPage {
    struct Step {
        let action: String
        /// The label of the commit that would be undone.
        let label: String?
        let changes: [JSONValue]
        let problems: [String]
    }

    let authors: [String]
    let author: String
    let steps: [Step]
    let values: Values
    let mayWrite: Bool
    let problem: String?

    var html: HTML {
        let options = authors.map { name -> HTML in
            "<option value=\"\(name)\"\("selected", if: name == author)>\(values.names[name] ?? name)</option>"
        }
        return """
            <h1>Undo</h1>
            \(problem.map { "<p class=\"problem\" role=\"alert\">\($0)</p>" as HTML })
            \(authors.isEmpty ? "<p class=\"empty\">No commit has an author, so that there is nothing to undo.</p>" : """
                <form method="get" aria-label="Author">
                <div class="field wide"><label for="author">Author</label><select id="author" name="author">\(options)</select></div>
                <button>Preview</button>
                </form>
                """)
            \(steps.map(section))
            """
    }

    private func section(_ step: Step) -> HTML {
        let action = step.action
        let title: HTML = "What \(action) would change\(step.label.map { ": \($0)" as HTML })"
        let content: HTML =
            if !step.problems.isEmpty {
                "<p>It would be refused:</p><ul>\(step.problems.map { "<li>\($0)</li>" as HTML })</ul>"
            } else if step.changes.isEmpty {
                "<p class=\"empty\">There is nothing to \(action).</p>"
            } else {
                "\(ChangeList(changes: step.changes, values: values).html)\(button(action))"
            }
        return """
            <section aria-labelledby="\(action)"><h2 id="\(action)">\(title)</h2>
            \(content)</section>
            """
    }

    private func button(_ action: String) -> HTML {
        guard mayWrite else {
            return "<p class=\"hint\">Start <code>stet-browse --write</code> to do it here.</p>"
        }
        return """
            <form method="post" action="/undo">
            <input type="hidden" name="author" value="\(author)">
            <input type="hidden" name="action" value="\(action)">
            <button class="primary" aria-describedby="\(action)-hint">\(action.capitalized)</button>
            <p class="hint" id="\(action)-hint">Rules are checked. Validators in code, which only the program that owns the store has, are not, and the commit says so.</p>
            </form>
            """
    }

    /// A conflict or violation of the tool, as a sentence.
    static func sentence(_ problem: JSONValue) -> String {
        problem["message"].text ?? problem["violation"].text ?? problem.description
    }
}
