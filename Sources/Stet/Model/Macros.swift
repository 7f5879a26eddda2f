public import StetStore

/// Makes a final class a model: its stored properties become attributes and to-one references.
///
/// A property needs an explicit type: `Bool`, integers of every width up to 64 bits, `Float`,
/// `Double`, `Decimal`, `String`, `Data`, `Date`, `UUID`, `URL`; an enum by its raw value
/// (`RawAttribute`); a struct or enum that is `Codable` (`CodableAttribute`); arrays and
/// dictionaries of all these; any of them optional; an optional model; or an `@Embedded` struct,
/// optional or not, whose members become attributes. `@Attribute` adds rules; `@Transient` leaves a
/// property out; `#Unique` and `#Index` in the class combine several properties; computed
/// properties and constants are not part of the model. The class keeps the initialisers that it
/// declares.
///
/// A context retains only objects with pending changes. Reading a reference gives the live object,
/// or makes it from its record: keep the objects that you compare or read often.
///
/// ```swift
/// @Model final class Article {
///     @Attribute(.trimmed, .length(1...25)) var title: String
///     var notebook: Notebook?
///     init(title: String) { self.title = title }
/// }
/// ```
///
/// - Parameter originalName: the name of the class in the previous version of the models, so that a
///   store of that version keeps its objects. See `Store.open(at:for:configuration:)`.
@attached(member, conformances: Model, names: arbitrary)
@attached(memberAttribute)
@attached(extension, conformances: Model, Deletable)
public macro Model(originalName: String? = nil) =
    #externalMacro(module: "StetMacros", type: "ModelMacro")

// A macro for each set of conformances, because the compiler crashes on a class whose superclass
// does not get all the conformances that its macro lists.

/// Makes a final class a model with an option: `@Model(.observable)`.
///
/// - Parameters:
///   - option: `.observable`; written as a literal, because the macro reads the text.
///   - originalName: the name of the class in the previous version of the models.
@attached(member, conformances: Model, names: arbitrary)
@attached(memberAttribute)
@attached(extension, conformances: Model, ObservableModel, Deletable)
public macro Model(_ option: ModelOption, originalName: String? = nil) =
    #externalMacro(module: "StetMacros", type: "ModelMacro")

/// Makes a final class a model whose objects are protected from unconfirmed deletion:
/// `@Model(.protected)`.
///
/// - Parameters:
///   - option: `.protected`; written as a literal, because the macro reads the text.
///   - originalName: the name of the class in the previous version of the models.
@attached(member, conformances: Model, names: arbitrary)
@attached(memberAttribute)
@attached(extension, conformances: Model)
public macro Model(_ option: ModelOption.Protection, originalName: String? = nil) =
    #externalMacro(module: "StetMacros", type: "ModelMacro")

/// Makes a final class a model whose objects can be observed and are protected from unconfirmed
/// deletion: `@Model(.observable, .protected)`.
///
/// - Parameters:
///   - option: `.observable`; written as a literal, because the macro reads the text.
///   - protection: `.protected`.
///   - originalName: the name of the class in the previous version of the models.
@attached(member, conformances: Model, names: arbitrary)
@attached(memberAttribute)
@attached(extension, conformances: Model, ObservableModel)
public macro Model(
    _ option: ModelOption, _ protection: ModelOption.Protection, originalName: String? = nil
) = #externalMacro(module: "StetMacros", type: "ModelMacro")

/// Makes a struct an embedded value: its members become attributes of the models that contain it.
///
/// See ``EmbeddedValue``. A member has an explicit type, which is one of those that an attribute of
/// a model can have, and `@Attribute` adds rules; an embedded value has no relationships and
/// contains no other one.
@attached(
    member,
    names: named(_$Types), named(Fields), named(_$CodingKeys), named(_$members),
    named(_OptionalAttribute), named(_List), named(_OptionalList),
    named(_$memberCount), named(_$encode(into:slot:)), named(_$encode(to:)),
    named(_$normalize(since:)), named(_$stamp(_:isInsert:)), named(==)
)
@attached(
    extension, conformances: EmbeddedValue,
    names: named(init(_$reader:slot:)), named(init(_$decoder:))
)
public macro Embedded() = #externalMacro(module: "StetMacros", type: "EmbeddedMacro")

/// Adds rules, normalisation or stamps to an attribute of a model or of an embedded value.
///
/// - Parameters:
///   - options: its rules, normalisation, stamps and indexes.
///   - originalName: the name of the attribute in the previous version of the model, so that a
///     store of that version keeps its values. See `Store.open(at:for:configuration:)`. At a member
///     of an embedded value, the previous name of the member, or of the model's attribute that has
///     become the member; at an embedded value, its own previous name.
@attached(peer)
public macro Attribute(_ options: AttributeOption..., originalName: String? = nil) =
    #externalMacro(module: "StetMacros", type: "AttributeMacro")

/// Requires that no two objects of the model have equal values in all of these properties; written
/// inside the class.
///
/// ```swift
/// #Unique<Article>(\.notebook, \.title)
/// ```
///
/// An object with nil in one of them is exempt. Code 1551. For a single property, use
/// `@Attribute(.unique)`. With a condition, only objects that satisfy it have unique values, such
/// as those that are not archived:
///
/// ```swift
/// #Unique<Article>(\.slug, where: { !$0.isArchived })
/// ```
///
/// - Parameters:
///   - properties: the properties of the model.
///   - comparing: the comparison of the properties that are text.
///   - condition: the condition: a closure as for `#Index`.
@freestanding(declaration)
public macro Unique<M: Model>(
    _ properties: PartialKeyPath<M>..., comparing: TextFolding = [],
    where condition: (M) -> Bool = { _ in true }
) = #externalMacro(module: "StetMacros", type: "IndexMacro")

/// Adds an index by which objects are found and sorted by these properties, or by the first of
/// them, without reading every object; written inside the class.
///
/// With a condition, the index contains only the objects that satisfy it, and serves only queries
/// that require the same: it is small, and changes of other objects do not touch it.
///
/// ```swift
/// #Index<Job>(\.due, where: { $0.state == .waiting })
/// ```
///
/// - Parameters:
///   - properties: the properties of the model, the most significant one first.
///   - comparing: the comparison of the properties that are text.
///   - condition: the condition: one expression over attributes of the object, with the operators
///     that queries have. It does not run; it must be the same each time that the program runs.
@freestanding(declaration)
public macro Index<M: Model>(
    _ properties: PartialKeyPath<M>..., comparing: TextFolding = [],
    where condition: (M) -> Bool = { _ in true }
) = #externalMacro(module: "StetMacros", type: "IndexMacro")

/// Describes how a property refers to other objects: the effect of deleting the owner, the property
/// at the other end, and the allowed number of objects.
///
/// ```swift
/// @Relationship(deleteRule: .cascade, inverse: \Article.notebook) var articles: ToMany<Article>
/// @Relationship(.count(...5), inverse: \Tag.articles) var tags: ToMany<Tag>
/// @Relationship(.required) var owner: Person?
/// @Relationship(deleteRule: .deny, inverse: \Car.owner) var cars: ToMany<Car>
/// ```
///
/// A to-many relationship needs the macro only for one of these. Two of them are each other's
/// inverse when one of them names the other; name it at one end, because the compiler rejects a
/// cycle. Delete rules are applied when the context is saved, to everything that is saved together.
///
/// - Parameters:
///   - options: the rules of the relationship: whether it is required, and the number of its
///     members.
///   - deleteRule: the effect on the objects at the other end when the owner is deleted; references
///     to the owner without such a relationship become nil.
///   - originalName: the name of the relationship in the previous version of the model.
///   - inverse: for a to-many relationship, the property of the members that is its other end.
@attached(peer)
public macro Relationship(
    _ options: RelationshipOption..., deleteRule: DeleteRule = .nullify,
    originalName: String? = nil, inverse: AnyKeyPath? = nil
) = #externalMacro(module: "StetMacros", type: "RelationshipMacro")

/// Stores the value of a computed property, so that queries, indexes, rules and history have it.
///
/// ```swift
/// @Derived var fullName: String { first + " " + last }
/// @Derived var employerName: String? { employer?.name }
/// ```
///
/// Its expression names attributes of the object and of objects that it refers to, also other
/// derived ones, with the operators that queries have. A save computes it whenever one of them has
/// changed, also for the objects that refer to a changed one. It never conflicts, and an undo does
/// not restore it but computes it again. See <doc:DerivedAttributes>.
@attached(peer)
public macro Derived() = #externalMacro(module: "StetMacros", type: "DerivedMacro")

/// Leaves a stored property out of the model: it is neither saved nor restored.
///
/// It needs a default value.
@attached(peer)
public macro Transient() = #externalMacro(module: "StetMacros", type: "TransientMacro")

/// Implements a stored property; `@Model` writes it, do not use it directly.
///
/// Without a slot it takes that of `_$Slots`, because an embedded value before the property has a
/// number of slots that only the compiler knows.
@attached(accessor, names: named(init), named(get), named(set))
public macro _Stored(_ slot: Slot? = nil, isObserved: Bool = false) =
    #externalMacro(module: "StetMacros", type: "StoredMacro")

/// Implements a to-many relationship; `@Model` writes it, do not use it directly.
@attached(accessor, names: named(init), named(get), named(set))
public macro _Members(_ relationship: Int) =
    #externalMacro(module: "StetMacros", type: "MembersMacro")
