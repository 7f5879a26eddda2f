import FoundationEssentials
import StetStore

/// The place between two pages of a query, as a value that a client can keep.
///
/// It has the id of the last object of a page and the values that the query sorts by; where an
/// index leads to the page, also those that the condition fixes. It is text in URLs
/// (`description`) and in JSON. The client can read it, and could change it: sign it where that
/// matters.
///
/// ```swift
/// let page = try store.fetch(Article.self).sorted(by: \.title).page(20, after: cursor)
/// ```
public struct QueryCursor: Hashable, Sendable {
    let bookmark: QueryBookmark

    init(_ bookmark: QueryBookmark) { self.bookmark = bookmark }
}

extension QueryCursor: LosslessStringConvertible {
    /// Text of letters, digits, "-" and "_".
    public var description: String {
        let coded = Coded(i: bookmark.id, v: bookmark.values.isEmpty ? nil : bookmark.values)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // Cannot fail: stored ids, names and values can always be encoded.
        let data = (try? encoder.encode(coded)) ?? Data()
        return data.base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Creates the cursor that a text describes; nil if the text is not a cursor, or is longer than
    /// 1 MiB, as the cursor of an order by texts of that size is.
    public init?(_ description: String) {
        guard description.utf8.count <= Self.longest else { return nil }
        let text = description.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: text + padding),
            let coded = try? JSONDecoder().decode(Coded.self, from: data)
        else { return nil }
        bookmark = QueryBookmark(id: coded.i, values: coded.v ?? [:])
    }

    /// The greatest number of bytes of a text that is decoded.
    private static let longest = 1 << 20

    private struct Coded: Codable {
        let i: ObjectID
        let v: [String: Value]?
    }
}

extension QueryCursor: Codable {
    /// Reads the text of a cursor.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let cursor = QueryCursor(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "The text is not a cursor.")
        }
        self = cursor
    }

    /// Writes the cursor as text.
    ///
    /// - Throws: the errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// A part of the result of a query, and the beginning of the next one.
public struct QueryResultPage<M: Model>: Sendable, Codable, Equatable {
    /// The objects, in order.
    public let items: [M.Snapshot]
    /// The beginning of the next page; nil when this is the last one.
    public let next: QueryCursor?
}

extension ObjectQuery {
    /// Returns a page of the result: the first one, or the one after a cursor.
    ///
    /// ```swift
    /// let query = store.fetch(Article.self).sorted(by: \.title)
    /// let first = try query.page(20)
    /// let second = try query.page(20, after: first.next)
    /// ```
    ///
    /// Use the condition and the order of the query that returned the cursor. Inserts and deletes
    /// before the cursor have no effect: no object is returned twice or left out, unless its own
    /// place changes. The last object of the page before may have been deleted.
    ///
    /// - Parameters:
    ///   - count: the greatest number of objects in the page.
    ///   - cursor: the `next` of the page before; nil for the first page.
    /// - Returns: the page, and the cursor of the next one; nil on the last page.
    /// - Precondition: `count` is at least 1.
    /// - Throws: `QueryError`: `.invalidCursor` for a cursor of another order or model,
    ///   `.hiddenOrder` when the query sorts by a `.hidden` property, which the cursor would show;
    ///   `StoreError`, and what the read throws.
    /// - Complexity: that of the query (`explain(analyze:)`); O(`count`) if an index has the order.
    public func page(
        _ count: Int, after cursor: QueryCursor? = nil
    ) throws -> QueryResultPage<M> {
        try beginning(after: cursor, count).read { run in
            let (rows, next) = try run.page(count, of: M._$name)
            let items = try rows.map { try M._$decode($0.id, $0.body) }
            return QueryResultPage(items: items, next: next)
        }
    }

    /// Returns the query for the objects after a cursor, and for one more than a page has.
    fileprivate func beginning(after cursor: QueryCursor?, _ count: Int) throws -> Self {
        trap(unless: (1..<Int.max).contains(count), "a page needs at least one object")
        var query = limit(count + 1)
        guard let cursor else { return query }
        guard let position = try query.read({ try $0.position(cursor.bookmark) }) else {
            throw QueryError.invalidCursor
        }
        query._request.position = position
        query._request.offset = 0
        return query
    }
}

extension Fetch {
    /// Returns a page of the result as objects, with what the query prefetches: the first page, or
    /// the one after a cursor.
    ///
    /// ```swift
    /// let query = context.fetch(Article.self).sorted(by: \.title).prefetch(\.notebook)
    /// let (articles, next) = try query.objects(20, after: cursor)
    /// ```
    ///
    /// It behaves like `page(_:after:)`, and throws the same errors.
    ///
    /// - Returns: the objects, and the cursor of the next page; nil on the last page.
    /// - Throws: the errors of `page(_:after:)`.
    public func objects(
        _ count: Int, after cursor: QueryCursor? = nil
    ) throws -> (objects: [M], next: QueryCursor?) {
        var next: QueryCursor?
        let objects = try beginning(after: cursor, count).objects { run in
            let page = try run.page(count, of: M._$name)
            next = page.next
            return page.rows
        }
        return (objects, next)
    }
}

extension QueryRun {
    /// Returns the rows of a page, and the cursor of the next page if there is one more.
    fileprivate func page(
        _ count: Int, of name: String
    ) throws -> (rows: [Row], next: QueryCursor?) {
        if let property = hiddenOrder {
            throw QueryError.hiddenOrder(name, property)
        }
        let rows = try self.rows()
        guard rows.count > count else { return (rows, nil) }
        return (Array(rows.prefix(count)), QueryCursor(try bookmark(of: rows[count - 1])))
    }
}
