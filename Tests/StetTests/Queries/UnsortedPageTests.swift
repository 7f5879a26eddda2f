import Stet
import StetTestSupport
import Testing

@Model private final class Stamp {
    var value: Int

    init(_ value: Int) { self.value = value }
}

/// Pages of queries without an order: the records are read one by one, by ascending id, with the
/// pending objects among them.
@Suite struct UnsortedPageTests {
    private let directory = TemporaryDirectory()
    private let store: Store
    private let context: ManagedContext
    /// Some of them are deleted or edited, and every fifth is not saved yet.
    private let stamps: [Stamp]

    init() throws {
        store = try Store.open(at: directory.file(), for: Stamp.self)
        context = store.context()
        stamps = (0..<60).map { Stamp($0) }
        for stamp in stamps { _ = stamp.id }
        for (place, stamp) in stamps.enumerated() where place % 5 != 4 { context.insert(stamp) }
        try context.save()
        for (place, stamp) in stamps.enumerated() {
            if place % 5 == 4 { context.insert(stamp) }
            if place % 7 == 1 { stamp.value += 100 }
            if place % 11 == 2 { context.delete(stamp) }
        }
    }

    private func page(
        _ query: Fetch<Stamp>, after last: Stamp?, _ offset: Int, _ limit: Int?
    ) throws -> [Int] {
        var query = last.map { query.after($0) } ?? query
        if offset > 0 { query = query.offset(offset) }
        if let limit { query = query.limit(limit) }
        let values = try query.values(of: \.value)
        #expect(try query.snapshots().map(\.value) == values)
        #expect(try query.ids() == query.snapshots().map(\.id))
        #expect(try query.values(of: \.value, \.value).map(\.1) == values)
        #expect(try query.count() == values.count)
        return values
    }

    @Test func pagesAreSlicesOfTheWhole() throws {
        let query = context.fetch(Stamp.self) { $0.value != 17 }
        let whole = stamps.filter { !$0.isDeleted && $0.value != 17 }
        #expect(try page(query, after: nil, 0, nil) == whole.map(\.value))
        for start in -1..<whole.count {
            let rest = whole[(start + 1)...].map(\.value)
            let last = start < 0 ? nil : whole[start]
            for (offset, limit) in [(0, 1), (0, nil), (1, 2), (2, 50), (60, nil), (0, 0)] {
                let expected = Array(rest.dropFirst(offset).prefix(limit ?? .max))
                #expect(try page(query, after: last, offset, limit) == expected)
            }
        }
    }

    @Test func snapshotsOfTheStoreAreThoseOfTheLastCommit() throws {
        let saved = stamps.indices.filter { $0 % 5 != 4 }
        #expect(try store.fetch(Stamp.self).all().map(\.value) == saved)
        let after = try store.fetch(Stamp.self).after(store.fetch(Stamp.self).all()[10])
        #expect(try after.offset(1).limit(3).all().map(\.value) == Array(saved[12..<15]))
    }
}
