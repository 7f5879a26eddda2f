// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Underscored members are called by generated code only; each is explained at its requirement.

public import FoundationEssentials
public import StetStore

/// What the links of a to-many relationship connect.
///
/// Used by the code that `@Model` writes: a type for each relationship.
public protocol _LinkEnds {
    associatedtype Source: Model
    associatedtype Target: Model
    /// "Article.tags"
    static var _name: String { get }
    static var _isOrdered: Bool { get }
    /// Kept by the type, because a generic class cannot.
    static var _description: ModelDescription<_Link<Self>> { get }
}

/// One member of a to-many relationship that is no reference of the member: an object of its own,
/// which nobody sees.
///
/// So a link is edited, restored, merged, saved, journalled and verified as every object is.
public final class _Link<Ends: _LinkEnds>: Model {
    public struct Snapshot: ModelSnapshot {
        public let id: ObjectID
        var source: ObjectID
        var target: ObjectID
        var position: Data

        init(id: ObjectID, source: ObjectID, target: ObjectID, position: Data) {
            self.id = id
            self.source = source
            self.target = target
            self.position = position
        }

        public init(_$id id: ObjectID, reader: inout RecordReader) throws(UnreadableValue) {
            self.id = id
            source = ObjectID._read(&reader, slot: Entity.LinkSlot.source)
            target = ObjectID._read(&reader, slot: Entity.LinkSlot.target)
            position =
                Ends._isOrdered ? Data._read(&reader, slot: Entity.LinkSlot.position) : Data()
        }

        public func _$encode(into writer: inout RecordWriter) {
            source._write(&writer, slot: Entity.LinkSlot.source)
            target._write(&writer, slot: Entity.LinkSlot.target)
            if Ends._isOrdered { position._write(&writer, slot: Entity.LinkSlot.position) }
        }
    }

    public struct Fields: ModelFields {
        public typealias Object = _Link
        public let _object: _QueryObject
        public init(_object: _QueryObject) { self._object = _object }
    }

    public var _$state = ModelState()
    var source: ObjectID
    var target: ObjectID
    var position: Data

    init(source: ObjectID, target: ObjectID, position: Data) {
        self.source = source
        self.target = target
        self.position = position
    }

    public init(_$snapshot snapshot: Snapshot, state: consuming ModelState) {
        _$state = state
        source = snapshot.source
        target = snapshot.target
        position = snapshot.position
    }

    public static var _$name: String { Ends._name }
    public static var _$propertyCount: Int { Ends._isOrdered ? 3 : 2 }
    public static var _$description: ModelDescription<_Link<Ends>> { Ends._description }

    public var _$snapshot: Snapshot {
        Snapshot(id: id, source: source, target: target, position: position)
    }

    public func _$assign(_ snapshot: Snapshot) {
        source = snapshot.source
        target = snapshot.target
        position = snapshot.position
    }

    public func _$visitReferences(_ visitor: inout ReferenceVisitor) {
        guard visitor.mode == .all else { return }
        visitor.references.append((Entity.LinkSlot.source, source))
        visitor.references.append((Entity.LinkSlot.target, target))
    }

    public func _$mutateReferences(_ mutation: ReferenceMutation) {
        guard case .refer(let slot, let id) = mutation else { return }
        if slot == Entity.LinkSlot.source { source = id }
        if slot == Entity.LinkSlot.target { target = id }
    }

    public func _$encode(into writer: inout RecordWriter) { _$snapshot._$encode(into: &writer) }
    public func _$normalize(since base: Snapshot?) {}
    public func _$stamp(_ date: Date, isInsert: Bool) {}
}

extension ModelDescription {
    /// The description of the links of a relationship.
    public init<Ends: _LinkEnds>(linksOf ends: Ends.Type) where M == _Link<Ends> {
        self.init(
            entity: .links(
                Ends._name, from: Ends.Source._$name, to: Ends.Target._$name,
                isOrdered: Ends._isOrdered),
            keyPaths: [\M.Snapshot.source, \M.Snapshot.target]
                + (Ends._isOrdered ? [\M.Snapshot.position] : []))
    }
}

/// A link, whatever it connects.
protocol AnyLink: Model {
    var source: ObjectID { get }
    var target: ObjectID { get }
    var position: Data { get set }
    init(source: ObjectID, target: ObjectID, position: Data)
}

extension _Link: AnyLink {}

extension AnyLink {
    /// The end in a slot.
    func end(_ slot: Int) -> ObjectID { slot == Entity.LinkSlot.source ? source : target }
}
