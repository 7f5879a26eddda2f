import Foundation
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

private enum Indexed {
    @Model final class Text {
        @Attribute(.indexed) var number: Int
        @Attribute(.indexed(.substring)) var content: String

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

    /// Copies the store, which has no index, to a new path, durably: what is measured then syncs
    /// only what it writes itself.
    func copy(to copy: String) throws {
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: copy))
        try file.synchronize()
        try file.close()
    }

    /// Opens a copy with a model whose text is searchable, which builds the index.
    static func open(_ copy: String) throws -> Store {
        try Store.open(at: copy, for: Searchable.Text.self)
    }

    /// Makes a store that has an index of substrings from the beginning.
    static func makeIndexed(_ texts: [String], path: String) throws -> Store {
        let store = try Store.open(at: path, for: Indexed.Text.self)
        let context = store.context()
        for (number, text) in texts.enumerated() {
            context.insert(Indexed.Text(number: number, content: text))
        }
        try context.save()
        return store
    }

    /// Opens a copy without an index of texts.
    static func openPlain(_ copy: String) throws -> Store {
        try Store.open(at: copy, for: Plain.Text.self)
    }

    /// Opens a copy with a model that has an index of substrings, which builds the index.
    static func openIndexed(_ copy: String) throws -> Store {
        try Store.open(at: copy, for: Indexed.Text.self)
    }

    /// Returns the number of texts that contain a part, without regard to case.
    static func count(with part: String, inPlain store: Store) throws -> Int {
        try store.fetch(Plain.Text.self) { $0.content.folded(.caseInsensitive).contains(part) }
            .count()
    }

    /// Returns the number of texts that contain a part, without regard to case.
    static func count(with part: String, inIndexed store: Store) throws -> Int {
        try store.fetch(Indexed.Text.self) { $0.content.folded(.caseInsensitive).contains(part) }
            .count()
    }

    /// Replaces texts by others, each in a save of its own.
    static func replace(_ texts: [(number: Int, text: String)], inPlain store: Store) throws {
        let context = store.context()
        for (number, text) in texts {
            try context.fetch(Plain.Text.self) { $0.number == number }.first()?.content = text
            try context.save()
        }
    }

    /// Replaces texts by others, each in a save of its own.
    static func replace(_ texts: [(number: Int, text: String)], inIndexed store: Store) throws {
        let context = store.context()
        for (number, text) in texts {
            try context.fetch(Indexed.Text.self) { $0.number == number }.first()?.content = text
            try context.save()
        }
    }

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
