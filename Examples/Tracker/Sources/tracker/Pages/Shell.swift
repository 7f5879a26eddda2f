import Foundation
import Hummingbird
import Markup
import Stet

/// The frame of every page: the way back, the person, and the steps that they can undo.
struct Shell {
    var title: String
    var user: User.Snapshot?
    /// The project whose board is one step up.
    var project: (key: String, name: String)?
    /// The next steps of undo and redo, by their labels.
    var undo: UndoStack.Step?
    var redo: UndoStack.Step?
    /// The address of this page, to which undo returns.
    var path = "/"
    /// The address of the stream that keeps the page up to date.
    var events: String?

    /// False on a page about an error, which knows nothing of the person.
    private let hasSession: Bool

    init(title: String) {
        self.title = title
        hasSession = false
    }

    init(title: String, user: User.Snapshot?, store: Store, path: String = "/") throws {
        hasSession = true
        self.title = title
        self.user = user
        self.path = path
        guard let user else { return }
        let stack = try store.undoStack(author: user.id.description, limit: 1)
        undo = stack.undo.first
        redo = stack.redo.first
    }

    func page(_ main: HTML) -> HTML {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <title>\(title) · Tracker</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <link rel="icon" href="data:,">
        <link rel="stylesheet" href="/tracker.css">
        <script src="/tracker.js" defer></script>
        </head>
        <body data-page="\(path)"\(events.map { " data-events=\"\($0)\"" as HTML })>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
        <nav aria-label="Where you are"><a href="/">Tracker</a>\(projectLink)</nav>
        \(hasSession ? session : nil)
        </header>
        <main id="main" tabindex="-1">
        \(main)
        </main>
        <p id="news" role="status"></p>
        </body>
        </html>
        """
    }

    private var projectLink: HTML? {
        project.map {
            " <span aria-hidden=\"true\">/</span> <a href=\"/projects/\($0.key)\" dir=\"auto\">\($0.name)</a>"
        }
    }

    private var session: HTML {
        guard let user else {
            return "<p class=\"person\"><a href=\"/#person\">Sign in to edit</a></p>"
        }
        return """
            <div class="session" id="session" data-live>
            \(button("undo", "Undo", undo))
            \(button("redo", "Redo", redo))
            <p class="person"><a href="/#person" dir="auto">\(user.name)</a></p>
            </div>
            """
    }

    /// A button that says what it will do; without a step it cannot be used.
    private func button(_ action: String, _ verb: String, _ step: UndoStack.Step?) -> HTML {
        guard let step else {
            return "<button id=\"\(action)\" disabled>Nothing to \(action)</button>"
        }
        return """
            <form method="post" action="/\(action)">
            <input type="hidden" name="back" value="\(path)">
            <button id="\(action)">\(verb): <span>\(step.label ?? "the last edit")</span></button>
            </form>
            """
    }
}

extension Problem {
    /// The page for an error that no form can show.
    func page() -> Response {
        let body: HTML = """
            <h1>\(details.title)</h1>
            \(details.detail == details.title ? nil : "<p>\(details.detail)</p>" as HTML)
            <p><a href="/">Back to the projects</a></p>
            """
        return Shell(title: details.title).page(body).response(status: .init(code: details.status))
    }
}

/// Returns the age of a time as text, with the exact time as its title.
func age(of time: Date, now: Date = Date()) -> HTML {
    let seconds = max(0, Int(now.timeIntervalSince(time)))
    let text =
        switch seconds {
        case ..<60: "just now"
        case ..<3_600: "\(seconds / 60) min ago"
        case ..<86_400: "\(seconds / 3_600) h ago"
        case ..<2_592_000: "\(seconds / 86_400) d ago"
        default: time.formatted(.iso8601.year().month().day())
        }
    let exact = time.formatted(.iso8601)
    return "<time datetime=\"\(exact)\" title=\"\(exact)\">\(text)</time>"
}
