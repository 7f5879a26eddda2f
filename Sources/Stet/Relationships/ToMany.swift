/// The members of a to-many relationship, in no order that means anything.
///
/// ```swift
/// @Model final class Notebook {
///     @Relationship(deleteRule: .cascade, inverse: \Article.notebook)
///     var articles: ToMany<Article>
///     …
/// }
/// notebook.articles.append(article)   // article.notebook is the notebook from now on
/// for article in notebook.articles where article.rating > 3 { … }
/// notebook.articles = [first, second]
/// ```
///
/// With an inverse to one the members are the objects that refer to the owner. Without one, or with
/// an inverse to many, owner and member are linked: the pair of them is what is added and removed,
/// and two who add the same member agree. Either way adding a member changes neither the owner nor
/// the other members, and takes as long with a million of them as with none.
///
/// Both ends are right at once when both objects are in a context. An object in no context has the
/// members that were given to it, and keeps them until it is inserted, with them.
///
/// Who observes an `.observable` object is not told of its members.
///
/// It is not a `Collection`, because a read can fail, and reading a property never traps: members
/// that cannot be read are left out, and the next call that can throw tells why. `Array(members)`
/// has them all.
public struct ToMany<Element: Model>: ToManyProperty {
    /// Used by the code that `@Model` writes.
    public let _members: MembersOfObject<Element>

    /// Used by the code that `@Model` writes.
    public init(_members: MembersOfObject<Element>) { self._members = _members }

    /// Used by the code that `@Model` writes.
    public static var _isOrdered: Bool { false }
}

/// The members of a to-many relationship in an order that is kept.
///
/// The order is that of `append`, `insert(_:at:)`, `move(from:to:)` and assignments. It belongs to
/// the owner's end: an inverse to many has none. Inserting between two members changes neither.
public struct OrderedToMany<Element: Model>: ToManyProperty {
    /// Used by the code that `@Model` writes.
    public let _members: MembersOfObject<Element>

    /// Used by the code that `@Model` writes.
    public init(_members: MembersOfObject<Element>) { self._members = _members }

    /// Used by the code that `@Model` writes.
    public static var _isOrdered: Bool { true }

    /// The member at an index; nil beyond the end, and when it cannot be read.
    ///
    /// - Complexity: O(members) for the first one that is asked for after a change, then O(1).
    public subscript(_ index: Int) -> Element? { _members.member(at: index) }

    /// Where a member stands; nil when it is none.
    ///
    /// - Complexity: O(members).
    public func firstIndex(of member: Element) -> Int? { _members.index(of: member) }

    /// Puts an object before the member at an index, or at the end with `count`; one that is a
    /// member already moves there.
    ///
    /// - Precondition: the index is one of the members, or their count.
    /// - Complexity: O(members); only the place of this one changes, as a rule.
    public func insert(_ member: Element, at index: Int) { _members.insert(member, at: index) }

    /// Takes the member at an index out, and puts it where it has the other index then.
    ///
    /// - Precondition: both are indexes of members.
    /// - Complexity: O(members); only the place of this one changes, as a rule.
    public func move(from index: Int, to newIndex: Int) {
        guard let member = self[index] else { return }
        _members.insert(member, at: newIndex)
    }

    /// Takes the member at an index out, as `remove(_:)` does.
    ///
    /// - Precondition: the index is one of the members.
    public func remove(at index: Int) {
        if let member = self[index] { remove(member) }
    }
}

/// What `ToMany` and `OrderedToMany` have in common.
public protocol ToManyProperty: Sequence, ExpressibleByArrayLiteral
where Element: Model, ArrayLiteralElement == Element, Iterator == MemberIterator<Element> {
    /// Used by the code that `@Model` writes.
    var _members: MembersOfObject<Element> { get }
    /// Used by the code that `@Model` writes.
    init(_members: MembersOfObject<Element>)
    /// Used by the code that `@Model` writes.
    static var _isOrdered: Bool { get }
}

extension ToManyProperty {
    /// Members to be assigned to a relationship, each once.
    public init(_ members: some Sequence<Element>) {
        self.init(_members: MembersOfObject(members))
    }

    /// Members to be assigned to a relationship, each once.
    public init(arrayLiteral members: Element...) {
        self.init(members)
    }

    /// How many members there are.
    ///
    /// - Complexity: O(members) for the first call after a change, then O(1).
    public var count: Int { _members.count }

    /// True when there are no members.
    public var isEmpty: Bool { count == 0 }

    /// The first member.
    public var first: Element? { _members.member(at: 0) }

    /// At most `count`.
    public var underestimatedCount: Int { 0 }

    /// The members as they are now; what is changed while it runs does not disturb it.
    ///
    /// Objects are made in pages of 256.
    public func makeIterator() -> MemberIterator<Element> { _members.makeIterator() }

    /// Whether an object is a member.
    ///
    /// - Complexity: O(1), and at most one read.
    public func contains(_ member: Element) -> Bool { _members.contains(member) }

    /// Makes an object a member, the last one where there is an order; nothing happens when it is
    /// one already.
    ///
    /// An object that is in no context is inserted into that of the owner. With an inverse to one
    /// it is taken from the owner that it had. An object of another context, or a deleted one, is a
    /// violation at the next save.
    ///
    /// - Complexity: O(1), and a few reads.
    public func append(_ member: Element) { _members.append(member) }

    /// Makes objects members, one after the other.
    public func append(contentsOf members: some Sequence<Element>) {
        for member in Array(members) { append(member) }
    }

    /// Takes a member out; nothing happens when it is none.
    ///
    /// The object stays, unless the relationship removes orphans.
    public func remove(_ member: Element) { _members.remove(member) }

    /// Takes all members out.
    public func removeAll() { removeAll { _ in true } }

    /// Takes those members out that a condition is true of.
    public func removeAll(where isRemoved: (Element) throws -> Bool) rethrows {
        for member in try filter(isRemoved) { remove(member) }
    }

    /// Makes objects members; the same as `append(contentsOf:)`.
    public func formUnion(_ members: some Sequence<Element>) { append(contentsOf: members) }

    /// Takes those out that are among others.
    public func subtract(_ members: some Sequence<Element>) {
        for member in Array(members) { remove(member) }
    }

    /// Takes those out that are not among others.
    public func formIntersection(_ members: some Sequence<Element>) {
        let kept = Set(members)
        removeAll { !kept.contains($0) }
    }

    /// Takes those out that are among others, and makes the rest of the others members.
    public func formSymmetricDifference(_ members: some Sequence<Element>) {
        let others = Set(members)
        let common = filter { others.contains($0) }
        append(contentsOf: members)
        subtract(common)
    }
}
