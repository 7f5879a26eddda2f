import Foundation
import Stet
import StetTestSupport

@Embedded struct OrderLine: EmbeddedValue, Identifiable {
    var id: UUID = UUID()
    @Attribute(.trimmed, .length(1...12)) var article: String = ""
    @Attribute(.range(1...)) var amount: Int = 1
    var note: String?
    var tags: [String] = []
    var kind: Kind = .sale
    var price: Price?

    enum Kind: String, RawAttribute { case sale, gift }
}

/// A value that cannot be encoded if it is negative.
struct Price: Hashable, CodableAttribute {
    struct Negative: Error {}

    var amount = 0.0

    init(amount: Double) { self.amount = amount }

    init(from decoder: any Decoder) throws {
        amount = try decoder.singleValueContainer().decode(Double.self)
    }

    func encode(to encoder: any Encoder) throws {
        if amount < 0 { throw Negative() }
        var container = encoder.singleValueContainer()
        try container.encode(amount)
    }
}

@Embedded struct Measurement: EmbeddedValue, Hashable {
    var value: Double = 0
    var unit: String?
}

@Model final class PurchaseOrder {
    @Attribute(.unique) var number: Int
    @Attribute(.length(...5)) var lines: [OrderLine] = []
    var weights: [Measurement] = []
    var further: [Measurement]?
    var owner: PurchaseOrder?

    init(_ number: Int) { self.number = number }
}

/// A store with one saved order of three lines.
struct OrderDesk {
    let directory = TemporaryDirectory()
    let store: Store
    let context: ManagedContext
    let order: PurchaseOrder

    init() throws {
        store = try Store.open(at: directory.file(), for: PurchaseOrder.self)
        context = store.context(author: "ann")
        order = PurchaseOrder(1)
        order.lines = ["nut", "bolt", "saw"].map { OrderLine(article: $0) }
        context.insert(order)
        try context.save()
    }

    /// The saved order as a fresh context reads it.
    func stored() throws -> PurchaseOrder.Snapshot? {
        try store.object(PurchaseOrder.self, id: order.id)
    }

    /// Edits the order in another context, and saves.
    func edit(_ body: (PurchaseOrder) -> Void) throws {
        let context = store.context(author: "bob")
        if let order = try context.object(PurchaseOrder.self, id: order.id) { body(order) }
        try context.save()
    }
}
