import Foundation

@testable import Stet

private func squeezed(_ text: String) -> String { text.replacingOccurrences(of: "  ", with: " ") }

/// Models with relationships, stamps, normalisers, derived attributes, indexes and hooks.
enum Bulk {
    @Model final class Maker {
        @Attribute(.trimmed, .unique(.caseInsensitive)) var name: String
        var rank: Int = 0
        @Relationship(deleteRule: .cascade, inverse: \Good.maker) var goods: ToMany<Good>
        @Relationship(inverse: \Good.showcase) var shown: OrderedToMany<Good>

        init(_ name: String) { self.name = name }
    }

    @Model final class Good {
        @Attribute(.normalized(by: squeezed), .searchable) var title: String
        @Attribute(.indexed(.substring)) var code: String
        @Attribute(.stamped(.insert)) var made: Date
        @Attribute(.stamped(.update)) var changed: Date
        var blob: Data?
        var price: Int = 0
        var maker: Maker?
        var showcase: Maker?
        @Relationship(inverse: \Mark.goods) var marks: ToMany<Mark>
        var related: OrderedToMany<Good>
        @Attribute(.indexed) @Derived var full: String { title + code }
        @Derived var makerName: String? { maker?.name }
        @Derived var since: Date { made }

        init(_ title: String, _ code: String) {
            self.title = title
            self.code = code
        }
    }

    @Model final class Mark {
        var text: String
        var goods: ToMany<Good>

        init(_ text: String) { self.text = text }
    }

    @Model final class Dot {
        var x: Int = 0
        var y: Int = 0

        init() {}
    }

    @Model final class Hooked {
        var text: String = ""
        var count: Int = 0

        init() {}
        func didInsert() { count = 1 }
        func willSave() { if !text.hasSuffix("!") { text += "!" } }
    }
}
