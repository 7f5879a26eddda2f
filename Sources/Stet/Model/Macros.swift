/// Makes a final class a model: its stored properties become attributes and to-one references.
///
/// A property needs an explicit type: `Bool`, integers of every width up to 64 bits, `Float`,
/// `Double`, `Decimal`, `String`, `Data`, `Date`, `UUID`, `URL`; an enum by its raw value
/// (`RawAttribute`); a struct or enum that is `Codable` (`CodableAttribute`); arrays and
/// dictionaries of all these; any of them optional; or an optional model. A value struct is one
/// attribute: it is compared and shown as a whole. `@Attribute` adds rules; `@Transient` leaves a
/// property out; `#Unique` and `#Index` in the class are for several properties together; computed
/// properties and constants are left alone. The class keeps the initialisers that it declares.
///
/// A context holds only objects with pending changes. A reference that is read gives the object
/// that is alive, or makes it: hold the objects that you compare or read often.
///
/// ```swift
/// @Model final class Article {
///     @Attribute(.trimmed, .length(1...25)) var title: String
///     var notebook: Notebook?
///     init(title: String) { self.title = title }
/// }
/// ```
///
/// - Parameters:
///   - options: what the class is beyond that, `.observable`, `.protected`; written out, for the
///     macro reads the text.
///   - originalName: what the class was called in the version of the models before this one: a
///     store of that version keeps its objects. See `Store.open(at:for:configuration:)`.
@attached(
    member,
    names: named(_$state), named(_$registrar), named(Snapshot), named(Fields), named(_$snapshot),
    named(_$assign(_:)), named(init(_$snapshot:state:)),
    named(_$description), named(_$name), named(_$propertyCount),
    named(_$reference(in:)), named(_$setReference(in:to:)), named(_$encode(into:)),
    named(_$normalize(since:)), named(_$stamp(_:isInsert:))
)
@attached(memberAttribute)
@attached(extension, conformances: Model, ObservableModel, Deletable)
public macro Model(_ options: ModelOption..., originalName: String? = nil) =
    #externalMacro(module: "StetMacros", type: "ModelMacro")

/// Adds rules, normalisation or stamps to an attribute of a model.
///
/// - Parameters:
///   - options: what is asked of it.
///   - originalName: what the attribute was called in the version of the model before this one: a
///     store of that version keeps its values. See `Store.open(at:for:configuration:)`.
@attached(peer)
public macro Attribute(_ options: AttributeOption..., originalName: String? = nil) =
    #externalMacro(module: "StetMacros", type: "AttributeMacro")

/// No two objects of the model have the same values of these properties together; stands in the
/// class.
///
/// ```swift
/// #Unique<Article>(\.notebook, \.title)
/// ```
///
/// An object with nil in one of them is let through. Code 1551. For one property there is
/// `@Attribute(.unique)`.
///
/// - Parameters:
///   - properties: of the model, by name.
///   - comparing: how those that are text are compared.
@freestanding(declaration)
public macro Unique<M: Model>(
    _ properties: PartialKeyPath<M>..., comparing: TextFolding = []
) = #externalMacro(module: "StetMacros", type: "IndexMacro")

/// Objects are found, and sorted, by these properties together, or the first ones of them, without
/// looking at all of them; stands in the class.
///
/// - Parameters:
///   - properties: of the model, by name; the one that is compared first at first.
///   - comparing: how those that are text are compared.
@freestanding(declaration)
public macro Index<M: Model>(
    _ properties: PartialKeyPath<M>..., comparing: TextFolding = []
) = #externalMacro(module: "StetMacros", type: "IndexMacro")

/// Says how a property refers to other objects: what becomes of them when the owner is deleted,
/// which property is the other end, what is asked of their number.
///
/// ```swift
/// @Relationship(deleteRule: .cascade, inverse: \Article.notebook) var articles: ToMany<Article>
/// @Relationship(.count(...5), inverse: \Tag.articles) var tags: ToMany<Tag>
/// @Relationship(.required, deleteRule: .deny) var owner: Person?
/// ```
///
/// Relationships to many need it only for that. Two of them are each other's inverse when one of
/// them names the other; name it at one end, because the compiler refuses a circle. A deletion is
/// judged when the context is saved, with everything that is saved with it.
///
/// - Parameters:
///   - options: what is asked of it.
///   - deleteRule: what becomes of the objects at the other end when the owner is deleted; those
///     that refer to the owner without such a relationship refer to nothing then.
///   - originalName: what the relationship was called in the version of the model before this one.
///   - inverse: of a relationship to many, the property of the members that is its other end.
@attached(peer)
public macro Relationship(
    _ options: RelationshipOption..., deleteRule: DeleteRule = .nullify,
    originalName: String? = nil, inverse: AnyKeyPath? = nil
) = #externalMacro(module: "StetMacros", type: "RelationshipMacro")

/// Leaves a stored property out of the model: it is neither saved nor restored.
///
/// It needs a default value.
@attached(peer)
public macro Transient() = #externalMacro(module: "StetMacros", type: "TransientMacro")

/// Written by `@Model` on each property; not for use by hand.
@attached(accessor, names: named(init), named(get), named(set))
@attached(peer, names: prefixed(_))
public macro _Stored(_ slot: Slot, isObserved: Bool = false) =
    #externalMacro(module: "StetMacros", type: "StoredMacro")

/// Written by `@Model` on each relationship to many; not for use by hand.
@attached(accessor, names: named(init), named(get), named(set))
@attached(peer, names: prefixed(_))
public macro _Members(_ relationship: Int) =
    #externalMacro(module: "StetMacros", type: "MembersMacro")
