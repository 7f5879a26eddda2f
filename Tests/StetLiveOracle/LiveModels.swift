package import Foundation
package import Stet

// The models of the random trials of live queries: values of every kind, references, and members by
// reference and by link, ordered and not, embedded values, optional ones and arrays of them,
// counters, derived attributes, and texts that are searched.

@Model package final class LiveBox {
    package var name: String
    package var rank: Int?
    package var parent: LiveBox?
    @Relationship(inverse: \LiveSample.box) package var samples: ToMany<LiveSample>
    @Relationship(inverse: \LiveSample.shelf) package var shelf: OrderedToMany<LiveSample>

    package init(name: String) { self.name = name }
}

@Model package final class LiveSample {
    @Attribute(.indexed) package var number: Int = 0
    package var small: Int8 = 0
    package var whole: UInt = 0
    package var real: Double = 0
    package var size: Int?
    @Attribute(.indexed, .searchable) package var text: String = ""
    @Attribute(.searchable, .indexed(.substring)) package var note: String?
    @Attribute(.counter) package var hits: Int = 0
    @Attribute(.indexed) @Derived package var boxRank: Int? { box?.rank }
    @Derived package var card: String { text + " " + (note ?? spare?.note ?? "") }
    package var date: Date = Date(timeIntervalSinceReferenceDate: 0)
    package var flag: Bool = false
    package var price: Decimal = Decimal(0)
    package var parts: [LivePart] = []
    package var main: LivePart = LivePart(size: 0, note: nil)
    package var spare: LivePart?
    package var box: LiveBox?
    package var shelf: LiveBox?
    package var next: LiveSample?
    @Relationship(inverse: \LiveTag.samples) package var tags: ToMany<LiveTag>
    package var others: OrderedToMany<LiveSample>

    package init() {}
}

@Embedded package struct LivePart {
    package var size: Int
    package var note: String?

    package init(size: Int, note: String?) {
        self.size = size
        self.note = note
    }
}

@Model package final class LiveTag {
    package var name: String
    package var samples: ToMany<LiveSample>

    package init(name: String) { self.name = name }
}
