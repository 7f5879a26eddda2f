import Foundation
import Hummingbird
import Markup
import Stet

/// An issue as it was after one of its changes, with a slider over all of them.
struct PastIssue {
    let position: Int
    let history: [HistoryEntry]
    let fields: FieldValues
    let before: FieldValues
    let people: [User.Snapshot]
    /// True if this place in the history was asked for.
    let isChosen: Bool

    init?(
        _ store: Store, _ id: ObjectID, _ history: [HistoryEntry], _ position: Int?,
        _ people: [User.Snapshot]
    ) throws {
        guard !history.isEmpty else { return nil }
        self.history = history
        self.people = people
        isChosen = position != nil
        self.position = min(max(position ?? history.count, 1), history.count)
        fields = try store.fields(of: id, at: history[history.count - self.position].revision)
        before =
            self.position == 1
            ? [:]
            : try store.fields(of: id, at: history[history.count - self.position + 1].revision)
    }

    private var entry: HistoryEntry { history[history.count - position] }

    func html(canEdit: Bool, issue key: String) -> HTML {
        """
        <form method="get" action="/issues/\(key)#history" id="slider">
        <label for="at">Change \(position) of \(history.count)</label>
        <input type="range" id="at" name="at" min="1" max="\(history.count)" value="\(position)"
        aria-valuetext="\(sentence)">
        <button>Show</button>
        </form>
        <div id="past" aria-live="polite">
        \(isChosen ? panel(canEdit, key) : nil)
        </div>
        """
    }

    private var sentence: String {
        "\(position) of \(history.count), revision \(entry.revision), by \(entry.author ?? "somebody")"
    }

    private func panel(_ canEdit: Bool, _ key: String) -> HTML {
        let rows = Field.allCases.map { field -> HTML in
            let value = (fields[field] ?? .null).shown(field, people)
            let hasChanged = fields[field] != before[field] && position > 1
            return """
                <dt>\(field.caption)</dt>
                <dd dir="auto">\(hasChanged ? "<mark>\(value)</mark>" as HTML : "\(value)")</dd>
                """
        }
        return """
            <p>As of <strong>revision \(entry.revision)</strong>, by <bdi>\(entry.author ?? "somebody")</bdi>,
            \(age(of: entry.time)). What it changed is marked.</p>
            <dl class="past">\(rows)</dl>
            \(canEdit && position > 1 ? revert(key) : nil)
            """
    }

    private func revert(_ key: String) -> HTML {
        """
        <form method="post" action="/issues/\(key)/revert">
        <input type="hidden" name="revision" value="\(entry.revision)">
        <button>Revert what revision \(entry.revision) changed</button>
        </form>
        """
    }
}
