/// The members of a to-many relationship, in no meaningful order.
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
/// With a to-one inverse, the members are the objects that refer to the owner. Without one, or with
/// a to-many inverse, owner and member are linked: the pair is added and removed, and two contexts
/// that add the same member do not conflict. In either case adding a member changes neither the
/// owner nor the other members, and takes the same time with a million members as with none.
///
/// Both ends are updated at once when both objects are in a context. An object in no context keeps
/// the members that were given to it, and they are inserted with it.
///
/// Observers of an `.observable` object are not notified of changes to its members.
///
/// It is not a `Collection`, because a read can fail, and reading a property never traps: members
/// that cannot be read are left out, and the next call that can throw reports why. `Array(members)`
/// contains all of them.
public struct ToMany<Element: Model>: _ToManyProperty {
    /// Used by the code that `@Model` writes.
    public let _members: _MembersOfObject<Element>

    /// Used by the code that `@Model` writes.
    public init(_members: _MembersOfObject<Element>) { self._members = _members }

    /// Used by the code that `@Model` writes.
    public static var _isOrdered: Bool { false }
}

/// The members of a to-many relationship, in an order that is stored.
///
/// `append`, `insert(_:at:)`, `move(from:to:)` and assignments determine the order. It belongs to
/// the owner's end: a to-many inverse has none. Inserting between two members changes neither.
public struct OrderedToMany<Element: Model>: _ToManyProperty {
    /// Used by the code that `@Model` writes.
    public let _members: _MembersOfObject<Element>

    /// Used by the code that `@Model` writes.
    public init(_members: _MembersOfObject<Element>) { self._members = _members }

    /// Used by the code that `@Model` writes.
    public static var _isOrdered: Bool { true }

    /// Returns the member at an index; nil beyond the end, and when it cannot be read.
    ///
    /// - Complexity: O(members) for the first access after a change, then O(1).
    public subscript(_ index: Int) -> Element? { _members.member(at: index) }

    /// Returns the index of a member; nil when the object is not a member.
    ///
    /// - Complexity: O(members).
    public func firstIndex(of member: Element) -> Int? { _members.index(of: member) }

    /// Inserts an object before the member at an index, or at the end with `count`; an object that
    /// is already a member moves there.
    ///
    /// - Precondition: the index is one of the members, or their count.
    /// - Complexity: O(members); usually only the position of this member changes.
    public func insert(_ member: Element, at index: Int) { _members.insert(member, at: index) }

    /// Moves the member at an index so that it has another index afterwards.
    ///
    /// - Precondition: both are indexes of members.
    /// - Complexity: O(members); usually only the position of this member changes.
    public func move(from index: Int, to newIndex: Int) {
        guard let member = self[index] else { return }
        _members.insert(member, at: newIndex)
    }

    /// Removes the member at an index, as `remove(_:)` does.
    ///
    /// - Precondition: the index is one of the members.
    public func remove(at index: Int) {
        if let member = self[index] { remove(member) }
    }
}

/// The common interface of `ToMany` and `OrderedToMany`.
public protocol _ToManyProperty: Sequence, ExpressibleByArrayLiteral
where Element: Model, ArrayLiteralElement == Element, Iterator == _MemberIterator<Element> {
    /// Used by the code that `@Model` writes.
    var _members: _MembersOfObject<Element> { get }
    /// Used by the code that `@Model` writes.
    init(_members: _MembersOfObject<Element>)
    /// Used by the code that `@Model` writes.
    static var _isOrdered: Bool { get }
}

extension _ToManyProperty {
    /// Creates members to be assigned to a relationship, each once.
    public init(_ members: some Sequence<Element>) {
        self.init(_members: _MembersOfObject(members))
    }

    /// Creates members to be assigned to a relationship, each once.
    public init(arrayLiteral members: Element...) {
        self.init(members)
    }

    /// The number of members.
    ///
    /// - Complexity: O(members) for the first call after a change, then O(1).
    public var count: Int { _members.count }

    /// True when there are no members.
    public var isEmpty: Bool { count == 0 }

    /// The first member.
    public var first: Element? { _members.member(at: 0) }

    /// A lower bound of the number of members; always 0, because counting could read the store.
    public var underestimatedCount: Int { 0 }

    /// Returns an iterator over the current members; later changes do not affect it.
    ///
    /// Objects are made in pages of 256.
    public func makeIterator() -> _MemberIterator<Element> { _members.makeIterator() }

    /// Returns whether an object is a member.
    ///
    /// - Complexity: O(1), and at most one read.
    public func contains(_ member: Element) -> Bool { _members.contains(member) }

    /// Adds a member, as the last one where there is an order; does nothing when the object is one
    /// already.
    ///
    /// An object that is in no context is inserted into the owner's context. With a to-one inverse,
    /// the object is removed from its previous owner. An object of another context, or a deleted
    /// one, is a violation at the next save.
    ///
    /// - Complexity: O(1), and a few reads.
    public func append(_ member: Element) { _members.append(member) }

    /// Adds members, one after another.
    public func append(contentsOf members: some Sequence<Element>) {
        for member in Array(members) { append(member) }
    }

    /// Removes a member; does nothing when the object is not a member.
    ///
    /// The object itself is not deleted, unless the relationship removes orphans.
    public func remove(_ member: Element) { _members.remove(member) }

    /// Removes all members.
    public func removeAll() { removeAll { _ in true } }

    /// Removes the members that satisfy a condition.
    ///
    /// - Throws: the errors of the condition, before anything is removed.
    public func removeAll(where isRemoved: (Element) throws -> Bool) rethrows {
        for member in try filter(isRemoved) { remove(member) }
    }

    /// Adds members, as `append(contentsOf:)` does.
    public func formUnion(_ members: some Sequence<Element>) { append(contentsOf: members) }

    /// Removes the members that are among other objects.
    public func subtract(_ members: some Sequence<Element>) {
        for member in Array(members) { remove(member) }
    }

    /// Removes the members that are not among other objects.
    public func formIntersection(_ members: some Sequence<Element>) {
        let kept = Set(members)
        removeAll { !kept.contains($0) }
    }

    /// Removes the members that are among other objects, and adds the other objects that were not
    /// members.
    public func formSymmetricDifference(_ members: some Sequence<Element>) {
        let others = Set(members)
        let common = filter { others.contains($0) }
        append(contentsOf: members)
        subtract(common)
    }
}
