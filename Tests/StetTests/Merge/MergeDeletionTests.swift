@testable import Stet
import StetTestModels
import Testing

/// The effect of merge policies when one side has deleted an object, and on references.
@Suite struct MergeDeletionTests {
    @Test func whatOthersDeletedIsDecidedByThePolicy() throws {
        for policy in [MergePolicy.mergeStoreWins, .mergeContextWins, .fail, .custom { $0.mine }] {
            let both = try TwoContexts(policy)
            let notebook = try #require(both.mine.notebook)
            both.other.delete(both.theirs)
            try both.other.save()
            both.mine.title = "mine"
            switch policy.rule {
            case .storeWins:
                #expect(try both.context.save() == nil)
                #expect(both.mine.isDeleted)
                #expect(!both.mine.hasChanges)
                #expect(try both.stored() == nil)
            case .contextWins:
                let commit = try #require(try both.context.save())
                #expect(commit.changeSet.changes.map(\.kind) == [.insert])
                #expect(!both.mine.isDeleted)
                #expect(!both.mine.isInserted)
                let stored = try #require(try both.stored())
                #expect(stored.title == "mine")
                #expect(stored.notebook == notebook.id)
                #expect(try both.context.referrers(of: notebook).count == 1)
            case .fail, .custom:
                let error = try #require(throws: ConflictError.self) { try both.context.save() }
                #expect(
                    error.conflicts == [
                        Conflict(entity: "Article", object: both.mine.id, base: 1, current: nil)
                    ])
                #expect(both.mine.title == "Macros")
            }
        }
    }

    @Test func whatOthersChangedThereAndBackIsInNoConflict() throws {
        for policy in [MergePolicy.mergeStoreWins, .mergeContextWins, .fail, .custom { $0.mine }] {
            for isDeleted in [true, false] {
                let both = try TwoContexts(policy)
                for title in ["theirs", "Macros"] {
                    both.theirs.title = title
                    try both.other.save()
                }
                if isDeleted { both.context.delete(both.mine) } else { both.mine.rating = 4 }
                try both.context.save()
                #expect(try both.stored()?.rating == (isDeleted ? nil : 4))
            }
        }
    }

    @Test func aRevivedObjectIsDeletedAgainByARollback() throws {
        let both = try TwoContexts(.mergeContextWins)
        both.other.delete(both.theirs)
        try both.other.save()
        both.mine.title = "mine"
        try both.context.refresh()
        #expect(both.mine.isInserted)
        #expect(!both.mine.isDeleted)
        #expect(try both.context.fetch(Article.self).all() == [both.mine])
        let notebook = try #require(both.mine.notebook)
        #expect(try both.context.referrers(of: notebook).count == 1)
        both.context.rollback()
        #expect(both.mine.isDeleted)
        #expect(both.mine.title == "Macros")
        #expect(!both.mine.hasChanges)
        #expect(try both.context.fetch(Article.self).all().isEmpty)
        #expect(try both.context.referrers(of: notebook).isEmpty)
    }

    @Test func whatWasDeletedHereIsDecidedByThePolicy() throws {
        for policy in [MergePolicy.mergeStoreWins, .mergeContextWins, .fail, .custom { $0.mine }] {
            let both = try TwoContexts(policy)
            both.theirs.title = "theirs"
            try both.other.save()
            both.context.delete(both.mine)
            switch policy.rule {
            case .storeWins:
                #expect(try both.context.save() == nil)
                #expect(!both.mine.isDeleted)
                #expect(both.mine.title == "theirs")
            case .contextWins:
                #expect(try both.context.save() != nil)
                #expect(try both.stored() == nil)
            case .fail, .custom:
                #expect(throws: ConflictError.self) { try both.context.save() }
                #expect(!both.mine.isDeleted)
                #expect(try both.stored()?.title == "theirs")
            }
        }
    }

    @Test func whatBothDeletedIsDeletedUnlessThePolicyIsFail() throws {
        for policy in [MergePolicy.mergeStoreWins, .mergeContextWins, .custom { $0.mine }] {
            let both = try TwoContexts(policy)
            both.other.delete(both.theirs)
            try both.other.save()
            both.context.delete(both.mine)
            #expect(try both.context.save() == nil)
            #expect(both.mine.isDeleted)
            #expect(!both.context.hasChanges)
        }
    }

    @Test func aReferenceToWhatOthersDeletedIsNilWhereTheStoreWins() throws {
        for policy in [MergePolicy.mergeStoreWins, .mergeContextWins, .custom { _ in .null }] {
            let scratch = try Scratch()
            let (context, notebook, _) = try scratch.saved()
            context.mergePolicy = policy
            let other = scratch.store.context()
            other.delete(try #require(try other.object(Notebook.self, id: notebook.id)))
            try other.save()
            let article = Article(title: "late", notebook: notebook)
            context.insert(article)
            if case .contextWins = policy.rule {
                let error = try #require(throws: ConflictError.self) { try context.save() }
                #expect(error.conflicts.map(\.object) == [notebook.id])
            } else {
                try context.save()
                #expect(article.notebook == nil)
                #expect(notebook.isDeleted)
                #expect(try scratch.store.verify().problems == [])
            }
        }
    }

    @Test func inverseEndsFollowAMerge() throws {
        let both = try TwoContexts(.mergeContextWins)
        let first = try #require(both.mine.notebook)
        let second = Notebook(name: "second")
        let third = Notebook(name: "third")
        both.context.insert(second)
        both.context.insert(third)
        try both.context.save()
        try both.other.refresh()
        both.theirs.notebook = try both.other.object(Notebook.self, id: second.id)
        try both.other.save()
        both.mine.notebook = third
        try both.context.refresh()
        #expect(both.mine.notebook === third)
        #expect(try both.context.referrers(of: first).isEmpty)
        #expect(try both.context.referrers(of: second).isEmpty)
        #expect(try both.context.referrers(of: third).map { $0.id } == [both.mine.id])
        both.context.delete(third)
        try both.context.save()
        #expect(try both.stored()?.notebook == nil)
    }
}
