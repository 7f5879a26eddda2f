import Stet

/// Texts that are not searchable yet.
private enum Plain {
    @Model final class Text {
        @Attribute(.indexed) var number: Int
        var content: String

        init(number: Int, content: String) {
            self.number = number
            self.content = content
        }
    }
}

private enum Searchable {
    @Model final class Text {
        @Attribute(.indexed) var number: Int
        @Attribute(.searchable) var content: String

        init(number: Int, content: String) {
            self.number = number
            self.content = content
        }
    }
}

/// Texts in a store.
struct StetTexts {
    private let path: String

    init(_ texts: [String], path: String) throws {
        self.path = path
        let store = try Store.open(at: path, for: Plain.Text.self)
        let context = store.context()
        for (number, text) in texts.enumerated() {
            context.insert(Plain.Text(number: number, content: text))
        }
        try context.save()
        store.close()
    }

    /// Opens the store with a model whose text is searchable, which builds the index.
    func open() throws -> Store { try Store.open(at: path, for: Searchable.Text.self) }

    /// Removes the index.
    func removeIndex() throws { try Store.open(at: path, for: Plain.Text.self).close() }

    static func best(_ terms: String, in store: Store) throws -> [Int] {
        try store.fetch(Searchable.Text.self).matching(terms).limit(10).values(of: \.number)
    }

    static func count(_ terms: String, in store: Store) throws -> Int {
        try store.fetch(Searchable.Text.self).matching(terms).count()
    }

    static func all(_ terms: String, in store: Store) throws -> Set<Int> {
        Set(try store.fetch(Searchable.Text.self).matching(terms).values(of: \.number))
    }
}
