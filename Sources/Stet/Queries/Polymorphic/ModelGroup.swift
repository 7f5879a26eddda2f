public import StetStore

/// Lets queries find the objects of all models that adopt a protocol:
/// `context.fetch(any: CommentableModels.self)`.
///
/// ```swift
/// @ModelProtocol protocol Commentable: Model {
///     var postedAt: Date { get }
///     var author: Person? { get }
///     @Transient var summary: String { get }
/// }
/// ```
///
/// The macro writes a type whose name is that of the protocol with `Models` at the end. It has a
/// member for each property that the protocol itself requires, except for to-many relationships and
/// properties that are `@Transient`. A model that is queried stores each property under the name
/// and with the type of the protocol. A protocol that refines another one repeats the properties
/// that its queries name.
@attached(peer, names: suffixed(Models))
public macro ModelProtocol() =
    #externalMacro(module: "StetMacros", type: "ModelProtocolMacro")

/// The models that adopt a protocol, with the properties that they have in common: `$0` in the
/// closure of `fetch(any:)`.
///
/// Do not conform to it by hand: `@ModelProtocol` writes the type.
public protocol ModelGroup: Sendable {
    /// The objects, such as `any Commentable`.
    associatedtype Object
    /// The model whose properties are named.
    var _model: _GroupModel { get }
    /// Used by the code that `@ModelProtocol` writes.
    init(_model: _GroupModel)
    /// Returns whether a model adopts the protocol.
    static func _adopts(_ type: any Model.Type) -> Bool
    /// Returns an object as one of the protocol; nil when its model does not adopt it.
    static func _object(_ object: any Model) -> Object?
}

extension ModelGroup {
    /// The object's id.
    public var id: QueryExpression<ObjectID> { QueryExpression(.id(.root)) }
}

/// One of the models that adopt a protocol.
///
/// Used by the code that `@ModelProtocol` writes.
public struct _GroupModel: Sendable {
    /// The model as the store has it.
    let entity: Entity
    /// The name of the group, for messages.
    let group: String
    /// Returns the labels of the model's sealed attributes; nil when it has none.
    let sealLabels: @Sendable () -> SealLabels?

    /// Returns an attribute or a reference as queries name it.
    public func field<T: _Storable>(_ name: String, _ type: T.Type) -> T._Field
    where T._SnapshotValue: StoredValue {
        let wanted = DescribedProperty(name, type, []).property
        return T._field(_QueryObject(.root, sealLabels: sealLabels), slot: slot(of: wanted))
    }

    /// Returns an embedded value as queries name it.
    public func field<T: EmbeddedValue>(_ name: String, _ type: T.Type) -> T._Field {
        let slots = T._$members.map { member in
            slot(of: member.described.member(of: name, formerly: nil, isHidden: false).property)
        }
        return T._field(_QueryObject(.root), slot: slots[0])
    }

    /// Returns an optional embedded value as queries name it.
    public func field<T: EmbeddedValue>(_ name: String, _ type: T?.Type) -> T._OptionalField {
        let slots = T._$described(name).map { slot(of: $0.property) }
        return T._field(optionalOf: _QueryObject(.root), slot: slots[0])
    }

    /// Returns the slot of a property.
    ///
    /// The values of all models of a group are compared with each other, so their types are equal.
    private func slot(of wanted: Property) -> Slot {
        guard let (slot, found) = entity.properties.slotted.first(where: { $1.name == wanted.name })
        else {
            trap(
                "\(entity.name) does not store '\(wanted.name)', which a query of \(group) names: "
                    + "make it a stored property or @Derived, or the requirement @Transient")
        }
        trap(
            unless: found.type == wanted.type && found.elements == wanted.elements
                && found.isOptional == wanted.isOptional && found.target == wanted.target,
            "\(entity.name).\(wanted.name) does not have the type of the protocol of \(group): "
                + "give both one type, or make the requirement @Transient")
        return slot
    }
}
