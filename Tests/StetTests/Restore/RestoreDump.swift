import Foundation
import Stet
import StetTestModels

/// The state that a context shows, read only through the accessors, in the terms of the model.
struct RestoreDump: Equatable {
    var objects: [Int: RestoreModel.Object] = [:]
    /// For each object of the context, who refers to it.
    var referrers: [Int: [Int]] = [:]
    var fetchedNotebooks: [Int] = []
    var fetchedArticles: [Int] = []
    var hasChanges = false
    var netChanges: [Int] = []
}

/// The objects of a driver by their label, all of them held.
struct LabelledObjects {
    var notebooks: [Int: Notebook] = [:]
    var articles: [Int: Article] = [:]

    func label(of object: (any Model)?) -> Int? {
        if let notebook = object as? Notebook {
            return notebooks.first { $0.value === notebook }?.key ?? -1
        }
        if let article = object as? Article {
            return articles.first { $0.value === article }?.key ?? -1
        }
        return nil
    }

    func label(of id: ObjectID) -> Int {
        notebooks.first { $0.value.id == id }?.key ?? articles.first { $0.value.id == id }?.key
            ?? -1
    }

    private func object<M: Model>(
        _ object: M, _ values: RestoreModel.Values, in context: ManagedContext
    ) -> RestoreModel.Object {
        // The values at insertion are not visible; the dump of the model omits them, too.
        RestoreModel.Object(
            values: values, isInContext: object.context === context, isInserted: object.isInserted,
            isDeleted: object.isDeleted, hasChanges: object.hasChanges, valuesAtInsert: values)
    }

    func dump(_ context: ManagedContext) throws -> RestoreDump {
        var dump = RestoreDump()
        for (label, notebook) in notebooks {
            let values = RestoreModel.Values(
                kind: .notebook, text: notebook.name, created: notebook.created,
                updated: notebook.updated)
            dump.objects[label] = object(notebook, values, in: context)
        }
        for (label, article) in articles {
            let values = RestoreModel.Values(
                kind: .article, text: article.title, body: article.body, rating: article.rating,
                notebook: self.label(of: article.notebook), next: self.label(of: article.next))
            dump.objects[label] = object(article, values, in: context)
        }
        for (label, notebook) in notebooks where notebook.context === context {
            dump.referrers[label] = try context.referrers(of: notebook).compactMap(self.label)
                .sorted()
        }
        for (label, article) in articles where article.context === context {
            dump.referrers[label] = try context.referrers(of: article).compactMap(self.label)
                .sorted()
        }
        dump.fetchedNotebooks = try context.fetch(Notebook.self).all().compactMap(self.label)
            .sorted()
        dump.fetchedArticles = try context.fetch(Article.self).all().compactMap(self.label).sorted()
        dump.hasChanges = context.hasChanges
        dump.netChanges = context.changes.changes.map { self.label(of: $0.id) }.sorted()
        return dump
    }
}

extension RestoreModel {
    /// The same, from the oracle.
    var dump: RestoreDump {
        var dump = RestoreDump()
        for (label, object) in objects {
            var visible = object
            visible.valuesAtInsert = object.values
            dump.objects[label] = visible
        }
        let present = objects.filter { $0.value.isInContext }
        let live = present.filter { !$0.value.isDeleted }
        for label in present.keys {
            dump.referrers[label] = live.flatMap { source, object in
                // An object that refers to another by two properties is listed twice.
                targets(of: object.values).filter { $0 == label }.map { _ in source }
            }.sorted()
        }
        dump.fetchedNotebooks = live.filter { $0.value.values.kind == .notebook }.keys.sorted()
        dump.fetchedArticles = live.filter { $0.value.values.kind == .article }.keys.sorted()
        dump.hasChanges = present.contains { $0.value.hasChanges }
        dump.netChanges = netChanges.sorted()
        return dump
    }
}
