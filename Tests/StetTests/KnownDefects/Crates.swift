import Foundation
import Stet
import StetTestSupport
import Testing

/// The models of the tests of known defects: each kind of relationship that one was found in.
enum Crates {
    @Model final class Crate {
        var name: String
        var number: Int = 0
        @Attribute(.unique) var key: String?
        @Attribute(.stamped(.update)) var updated: Date?
        @Relationship(inverse: \Part.crate) var parts: ToMany<Part>
        @Relationship(inverse: \Part.shelf) var shelf: OrderedToMany<Part>
        var pins: OrderedToMany<Part>
        @Relationship(.orphanRemoval, inverse: \Petal.crate) var petals: ToMany<Petal>
        var parent: Crate?

        init(name: String) { self.name = name }
    }

    @Model final class Part {
        @Attribute(.trimmed) var name: String
        var number: Int = 0
        @Attribute(.unique) var key: String?
        @Attribute(.stamped(.insert)) var created: Date?
        var crate: Crate?
        var shelf: Crate?
        @Relationship(deleteRule: .cascade) var next: Part?
        @Relationship(inverse: \Mark.parts) var marks: ToMany<Mark>

        init(name: String) { self.name = name }
    }

    @Model final class Mark {
        var name: String
        var parts: ToMany<Part>

        init(name: String) { self.name = name }
    }

    @Model final class Petal {
        var number: Int = 0
        var crate: Crate?

        init() {}
    }

    /// A new store of these models.
    static func open(_ directory: TemporaryDirectory) throws -> Store {
        try Store.open(
            at: directory.file(), for: Crate.self, Part.self, Mark.self, Petal.self)
    }
}

/// A saved graph in two contexts: crates a and b; parts 1, 2 and 3, of which the first is in crate
/// a and on its shelf; a mark; a petal of crate a.
@MainActor final class CrateScene {
    let directory = TemporaryDirectory()
    let store: Store
    let mine: View
    let theirs: View

    /// The graph as one context shows it.
    @MainActor final class View {
        let context: ManagedContext
        let a: Crates.Crate
        let b: Crates.Crate
        let parts: [Crates.Part]
        let mark: Crates.Mark
        let petal: Crates.Petal

        init(_ context: ManagedContext) throws {
            self.context = context
            let crates = try context.fetch(Crates.Crate.self).all().sorted { $0.name < $1.name }
            (a, b) = (crates[0], crates[1])
            parts = try context.fetch(Crates.Part.self).all().sorted { $0.name < $1.name }
            mark = try context.fetch(Crates.Mark.self).all()[0]
            petal = try context.fetch(Crates.Petal.self).all()[0]
        }
    }

    init(_ policy: MergePolicy = .fail) throws {
        store = try Crates.open(directory)
        let first = store.context()
        let crates = ["a", "b"].map { Crates.Crate(name: $0) }
        let parts = ["1", "2", "3"].map { Crates.Part(name: $0) }
        let petal = Crates.Petal()
        for crate in crates { first.insert(crate) }
        for part in parts { first.insert(part) }
        first.insert(Crates.Mark(name: "mark"))
        first.insert(petal)
        parts[0].crate = crates[0]
        crates[0].shelf.append(parts[0])
        petal.crate = crates[0]
        try first.save()
        mine = try View(store.context(author: "mine"))
        theirs = try View(store.context(author: "theirs"))
        mine.context.mergePolicy = policy
    }

    /// The graph as it is stored.
    func stored() throws -> View {
        #expect(try store.verify().problems == [])
        return try View(store.context())
    }
}

extension Sequence where Element == Crates.Part {
    var names: [String] { map(\.name) }
}
