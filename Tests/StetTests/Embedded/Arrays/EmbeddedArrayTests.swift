import Foundation
import Stet
import StetTestSupport
import Testing

/// Arrays of embedded values: storage, rules, normalisers, encodings.
@Suite struct EmbeddedArrayTests {
    private let desk: OrderDesk
    private var order: PurchaseOrder { desk.order }

    init() throws { desk = try OrderDesk() }

    private func words(_ lines: [OrderLine]?) -> [String] { lines?.map(\.article) ?? [] }

    @Test func anArrayIsStored() throws {
        order.lines[1].note = "é"
        order.lines[2].tags = ["a", "b"]
        order.lines[2].kind = .gift
        order.weights = [Measurement(value: 1.5, unit: "kg"), Measurement(value: -0.0)]
        order.further = []
        try desk.context.save()
        let stored = try #require(try desk.stored())
        #expect(stored.lines == order.lines)
        #expect(stored.lines[1].note == "é")
        #expect(stored.weights == order.weights)
        #expect(stored.weights[1].value.sign == .minus)
        #expect(stored.further == [])
        #expect(try desk.store.verify().problems == [])
        order.further = nil
        order.lines = []
        try desk.context.save()
        #expect(try desk.stored()?.further == nil)
        #expect(try desk.stored()?.lines == [])
        #expect(try desk.store.verify().problems == [])
    }

    @Test func anArrayIsAChange() throws {
        let before = order.lines
        order.lines[0].amount = 7
        let commit = try #require(try desk.context.save())
        let change = commit.changes(of: PurchaseOrder.self)[0]
        #expect(change.old[\.lines] == before)
        #expect(change.new[\.lines] == order.lines)
        #expect(commit.changeSet.changes.flatMap { $0.properties.map(\.name) } == ["lines"])
        order.lines[0].amount = 7
        #expect(try desk.context.save() == nil)
    }

    @Test func membersAreNormalized() throws {
        order.lines[1].article = "  nail "
        order.lines.append(OrderLine(article: " rope"))
        try desk.context.save()
        #expect(words(order.lines) == ["nut", "nail", "saw", "rope"])
        #expect(words(try desk.stored()?.lines) == ["nut", "nail", "saw", "rope"])
    }

    @Test func rulesOfMembersHoldForEachElement() throws {
        order.lines[0].article = ""
        order.lines[2].amount = 0
        order.lines[2].article = "a very long article"
        let error = try #require(
            throws: ValidationError.self
        ) { try desk.context.save(onFailure: .keepPending) }
        #expect(
            error.violations.map(\.property) == [
                "lines[0].article", "lines[2].article", "lines[2].amount",
            ])
        #expect(error.violations.map(\.code) == [.tooShort, .tooLong, .tooSmall])
        #expect(error.violations[2].value == .int(0))
        #expect(error.violations[2].message == "lines[2].amount must be at least 1")
        desk.context.rollback()
        order.lines = (0..<6).map { OrderLine(article: "\($0)", amount: 0) }
        let others = try #require(
            throws: ValidationError.self
        ) { try desk.context.save(onFailure: .keepPending) }
        #expect(others.violations.first?.property == "lines")
        #expect(others.violations.count == 7)
    }

    @Test func anArrayIsEncodedInASnapshot() throws {
        order.lines[0].note = "x"
        order.weights = [Measurement(value: 2)]
        try desk.context.save()
        let snapshot = try #require(try desk.stored())
        let data = try JSONEncoder().encode(snapshot)
        let object = try #require(
            try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let lines = try #require(object["lines"] as? [[String: Any]])
        #expect(lines[0]["note"] as? String == "x")
        #expect(lines[1]["note"] == nil)
        #expect(object["further"] == nil)
        #expect(try JSONDecoder().decode(PurchaseOrder.Snapshot.self, from: data) == snapshot)
    }

    @Test func aChangeSetWithArraysIsEncodedAndApplied() throws {
        order.lines[1].note = "blue"
        order.further = [Measurement(value: 3, unit: nil)]
        let changes = desk.context.changes
        let data = try JSONEncoder().encode(changes)
        desk.context.rollback()
        let decoded = try JSONDecoder().decode(ChangeSet.self, from: data)
        try desk.context.apply(decoded)
        #expect(order.lines[1].note == "blue")
        #expect(order.further == [Measurement(value: 3)])
        try desk.context.save()
        #expect(try desk.stored()?.further == [Measurement(value: 3)])
    }

    @Test func aChangeSetWithAForeignElementIsRefused() throws {
        order.further = [Measurement(value: 3)]
        let data = try JSONEncoder().encode(desk.context.changes)
        desk.context.rollback()
        let text = try #require(String(data: data, encoding: .utf8))
        #expect(text.contains("unit"))
        let damaged = text.replacingOccurrences(of: "unit", with: "until")
        let decoded = try JSONDecoder().decode(ChangeSet.self, from: Data(damaged.utf8))
        #expect(throws: ChangeSetError.self) { try desk.context.apply(decoded) }
        #expect(!desk.context.hasChanges)
    }

    @Test func aMemberWithoutAStoredFormIsRefused() throws {
        order.lines[1].price = Price(amount: -1)
        let error = try #require(throws: ValidationError.self) { try desk.context.save() }
        #expect(error.violations.map(\.code) == [.unstorable])
        #expect(error.violations.first?.property == "lines")
        #expect(try desk.stored()?.lines[1].price == nil)
    }

    @Test func questionsCompareAWholeArray() throws {
        let weights = [Measurement(value: 1, unit: "kg")]
        order.weights = weights
        try desk.context.save()
        let found = try desk.context.fetch(PurchaseOrder.self) { $0.weights == weights }.count()
        #expect(found == 1)
        let empty = try desk.context.fetch(PurchaseOrder.self) { $0.weights == [] }.count()
        #expect(empty == 0)
        #expect(try desk.context.fetch(PurchaseOrder.self) { $0.further == nil }.count() == 1)
    }

    private func count(
        @QueryBuilder _ condition: @escaping (PurchaseOrder.Fields) -> QueryExpression<Bool>
    ) throws -> Int {
        let count = try desk.context.fetch(PurchaseOrder.self, where: condition).count()
        // The same, in the store alone.
        #expect(try desk.store.fetch(PurchaseOrder.self, where: condition).count() == count)
        return count
    }

    @Test func conditionsTestElements() throws {
        let second = PurchaseOrder(2)
        second.owner = order
        second.lines = [OrderLine(article: "nut", amount: 3), OrderLine(article: "cap", amount: 2)]
        second.further = [Measurement(value: 2)]
        desk.context.insert(second)
        try desk.context.save()
        #expect(try count { $0.lines.any { $0.article == "nut" } } == 2)
        #expect(try count { $0.lines.any { $0.article == "nut" && $0.amount > 2 } } == 1)
        #expect(try count { $0.lines.any { $0.article == "cap" && $0.amount > 2 } } == 0)
        #expect(try count { $0.lines.all { $0.amount > 1 } } == 1)
        #expect(try count { $0.further.all { $0.value > 5 } } == 1)
        #expect(try count { $0.further.any { $0.unit == nil } } == 1)
        #expect(try count { $0.lines.count() == 3 } == 1)
        #expect(try count { $0.lines.count { $0.amount >= 2 } == 2 } == 1)
        #expect(try count { $0.owner?.lines.count { $0.article.hasPrefix("bo") } > 0 } == 1)
        // Elements are compared with attributes of their owner, and with those of other arrays.
        #expect(try count { order in order.lines.any { $0.amount > order.number } } == 1)
        #expect(
            try count { order in
                order.lines.any { one in
                    order.lines.any { $0.article != one.article && $0.amount > one.amount }
                }
            } == 1)
        #expect(try count { !$0.lines.any { $0.kind == .gift } } == 2)
    }

    @Test func aQueryOfElementsExplainsItself() throws {
        let query = desk.context.fetch(PurchaseOrder.self) {
            $0.lines.any { $0.amount > 2 } && $0.further.count() == 0
        }
        let text = "\(try query.explain())"
        #expect(text.contains("lines.any { amount > 2 }"), "\(text)")
        #expect(text.contains("further.count == 0"), "\(text)")
    }

    @Test func aLiveQueryFollowsElements() async throws {
        let query = desk.store.fetch(PurchaseOrder.self) { $0.lines.any { $0.amount > 2 } }
        var updates = desk.store.observe(query).makeAsyncIterator()
        #expect(try await updates.next()?.result.count == 0)
        order.lines[1].amount = 3
        try await desk.context.save()
        #expect(try await updates.next()?.result.count == 1)
    }
}
