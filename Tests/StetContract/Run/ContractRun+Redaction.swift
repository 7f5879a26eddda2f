import Stet
import StetStore

/// A value that a commit names: one it has set, or one it has taken away.
struct ValueImage: Hashable {
    let label: Label
    let attribute: Attribute
    let revision: Int
    let isAfter: Bool
}

extension World.Object {
    /// The value of an attribute as text; nil when there is none.
    func value(_ attribute: Attribute) -> String? {
        switch attribute {
        case .name: name
        case .number: "\(number)"
        case .key: key
        }
    }
}

extension RunReference {
    /// The values of an attribute that the journal names, with the commit that names each.
    private func images(_ label: Label, _ attribute: Attribute) -> [(ValueImage, value: String)] {
        (floor + 1..<states.count).flatMap { revision -> [(ValueImage, value: String)] in
            let before = states[revision - 1].objects[label]
            let after = states[revision].objects[label]
            let (old, new) = (before?.value(attribute), after?.value(attribute))
            // Insertions and deletions name all values.
            let isNamed = old != new || (before == nil) != (after == nil)
            return [(old, false), (new, true)].compactMap { value, isAfter in
                guard isNamed, let value else { return nil }
                let image = ValueImage(
                    label: label, attribute: attribute, revision: revision, isAfter: isAfter)
                return redacted.contains(image) ? nil : (image, value)
            }
        }
    }

    /// What a redaction takes away, and whether a present value is among it.
    func redaction(
        _ label: Label, _ attribute: Attribute
    ) -> (lost: [ValueImage], isInUse: Bool) {
        var images = images(label, attribute)
        let present = states[head].objects[label]?.value(attribute)
        if present != nil, let last = images.last?.0, last.isAfter { images.removeLast() }
        return (images.map(\.0), images.contains { $0.value == present })
    }
}

extension ContractRun {
    /// Takes the values of an attribute out of the journal, where all contexts show what is saved
    /// last: what was before cannot be shown any more.
    func redact(_ label: Label, _ attribute: Attribute) throws {
        guard scenes.allSatisfy({ $0.revision == reference.head }),
            let id = registry.ids[label], let kind = registry.kinds[label],
            (0...reference.head).contains(where: { reference.states[$0].objects[label] != nil })
        else { return }
        let (lost, isInUse) = reference.redaction(label, attribute)
        do {
            try request(kind.model, id, attribute).confirm()
        } catch let error as StoreError where error.code == .valueInUse {
            // Who asks for what is only in use is refused, too.
            guard isInUse || lost.isEmpty else { throw error }
            return count("redaction refused")
        }
        if isInUse { throw Difference("a value of \(label) that is in use was redacted") }
        reference.redacted.formUnion(lost)
        reference.erased.formUnion(lost.map(\.revision))
        try compareRedacted(id, attribute, lost)
        count(lost.isEmpty ? "redaction of nothing" : "redacted")
    }

    private func request<M: Thing>(
        _ type: M.Type, _ id: ObjectID, _ attribute: Attribute
    ) throws -> DestructiveAction {
        switch type {
        case is Box.Type: try request(Box.self, id, attribute, \.name, \.number, \.key)
        case is Item.Type: try request(Item.self, id, attribute, \.name, \.number, \.key)
        case is Tag.Type: try request(Tag.self, id, attribute, \.name, \.number, \.key)
        default: try request(Leaf.self, id, attribute, \.name, \.number, \.key)
        }
    }

    private func request<M: Model>(
        _ type: M.Type, _ id: ObjectID, _ attribute: Attribute,
        _ name: PartialKeyPath<M.Snapshot>, _ number: PartialKeyPath<M.Snapshot>,
        _ key: PartialKeyPath<M.Snapshot>
    ) throws -> DestructiveAction {
        switch attribute {
        case .name: try store.requestRedaction(of: type, id: id, name)
        case .number: try store.requestRedaction(of: type, id: id, number)
        case .key: try store.requestRedaction(of: type, id: id, key)
        }
    }

    /// The journal names none of the values any more, and says so.
    private func compareRedacted(
        _ id: ObjectID, _ attribute: Attribute, _ lost: [ValueImage]
    ) throws {
        for revision in Set(lost.map(\.revision)) {
            let commits = try store.journal(
                from: Revision(UInt64(revision)), to: Revision(UInt64(revision)))
            let change = commits.first?.changeSet.changes.first { $0.id == id }
            let property = change?.properties.first { $0.name == attribute.rawValue }
            guard let property, property.redacted != RedactedSides() else {
                throw Difference("commit \(revision) still has \(attribute) of \(id)")
            }
        }
    }
}
