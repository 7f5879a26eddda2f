import Stet
import Testing

/// The code of ObservingChanges.md.
@Suite struct ObservingChangesTests {
    @Test func commitsAreReadFromARevisionOn() async throws {
        let desk = try Desk()
        let store = desk.store
        try desk.saveElsewhere { $0.rating = 4 }
        var lastSeen: Revision = 1
        var labels: [String] = []

        for try await commit in store.commits(after: .revision(lastSeen)) {
            labels.append(commit.label ?? "")
            lastSeen = commit.revision
            if commit.label == "elsewhere" { break }
        }

        #expect(labels == ["elsewhere"])
        #expect(lastSeen == 2)
    }

    @Test func changesOfAModelAreFiltered() async throws {
        let desk = try Desk()
        let (store, context) = (desk.store, desk.context)

        let good = store.changes(of: Article.self, when: .entering) { $0.rating >= 3 }
            .properties(\.rating)
            .excluding(context)
            .withSnapshots()

        try desk.saveElsewhere { $0.title = "Macros 2" }
        try desk.saveElsewhere { $0.rating = 4 }
        var titles: [String] = []

        for try await event in good {
            for change in event.changes {
                titles.append(change.new.snapshot?.title ?? "")
            }
            if event.commit.label == "elsewhere" { break }
        }

        #expect(titles == ["Macros 2"])
    }

    @Test func aLiveQueryFollowsCommits() async throws {
        let desk = try Desk()
        let store = desk.store
        desk.context.insert(Article(title: "Actors"))
        try await desk.context.save()
        let saver = Task {
            for article in try store.fetch(Article.self).ids() {
                let other = store.context()
                try other.object(Article.self, id: article)?.rating = 4
                try await other.save()
            }
        }
        var titles: [String] = []

        let best = store.fetch(Article.self) { $0.rating >= 3 }.sorted(by: \.title).limit(20)
        for try await update in store.observe(best) {
            titles = update.result.map(\.title)
            if titles.count == 2 { break }
        }

        try await saver.value
        #expect(titles == ["Actors", "Macros"])
    }

    @Test func aLiveQueryHasSections() async throws {
        let desk = try Desk()
        let store = desk.store
        desk.context.insert(Article(title: "Actors"))
        try await desk.context.save()
        var lines: [String] = []

        let articles = store.observe(store.fetch(Article.self).sorted(by: \.title))
        for try await update in articles.sectioned(by: \.notebook?.name) {
            for section in update.sections {
                lines.append("\(section.key ?? "-"): \(update.result[section.range].count)")
            }
            break
        }

        #expect(lines == ["-: 1", "Swift: 1"])
    }

    @Test func aSignalSaysThatTheStoreHasMoved() async throws {
        let desk = try Desk()
        let store = desk.store
        let signals = store.signals
        var count = 0
        for rating in 1...3 { try desk.saveElsewhere { $0.rating = rating } }

        for try await revision in signals {
            count = try store.view(asOf: revision).fetch(Article.self) { $0.rating >= 3 }.count()
            if count > 0 { break }
        }

        #expect(count == 1)
    }

    @MainActor private final class Button { var isEnabled = false }

    @MainActor @Test func aFormFollowsWhatIsPending() async throws {
        let desk = try Desk()
        let (context, article) = (desk.context, desk.article)
        let saveButton = Button()
        let form = Task { @MainActor in
            for await update in context.pendingChanges {
                saveButton.isEnabled = !update.changes.isEmpty
            }
        }
        while !saveButton.isEnabled {
            article.rating = article.rating % 4 + 1
            await Task.yield()
        }
        try await context.save()
        while saveButton.isEnabled { await Task.yield() }
        form.cancel()
        await form.value
        #expect(!context.hasChanges)
    }

    @Test func refusalsAreToldOf() async throws {
        let desk = try Desk()
        let (store, context, article) = (desk.store, desk.context, desk.article)
        let refusals = store.refusals
        article.rating = 9
        #expect(throws: ValidationError.self) { try context.save("rate") }
        var lines: [String] = []

        for await refusal in refusals {
            let reasons = refusal.violations.map(\.message).joined(separator: ", ")
            lines.append("\(refusal.author ?? "somebody"), \(refusal.label ?? "save"): \(reasons)")
            if refusal.label == "rate" { break }
        }

        #expect(lines == ["lala, rate: rating can't be greater than 5"])
    }
}
