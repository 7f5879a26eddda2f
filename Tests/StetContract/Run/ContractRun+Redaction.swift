import Stet
import StetStore

/// A value in a commit: one that it has set, or one that it has replaced.
struct ValueImage: Hashable {
    let label: Label
    let attribute: Attribute
    let revision: Int
    let isAfter: Bool
}

extension World.Object {
    /// Returns the value of an attribute as text; nil if there is none.
    func value(_ attribute: Attribute) -> String? {
        switch attribute {
        case .name: name
        case .number: "\(number)"
        case .key: key
        case .file: file.map(String.init)
        case .secret: secret.map { "\($0)" }
        case .parts: "\(parts)"
        case .trail: "\(trail)"
        case .row: "\(spot.row)"
        case .pose: nil
        case .poseRow: pose.map { "\($0.row)" }
        case .poseMark: pose?.mark
        }
    }
}

extension RunReference {
    /// Returns the values of an attribute in the journal, each with its commit.
    private func images(_ label: Label, _ attribute: Attribute) -> [(ValueImage, value: String)] {
        (floor + 1..<states.count).flatMap { revision -> [(ValueImage, value: String)] in
            let before = states[revision - 1].objects[label]
            let after = states[revision].objects[label]
            let (old, new) = (before?.value(attribute), after?.value(attribute))
            // Insertions and deletions contain all values.
            let isNamed = old != new || (before == nil) != (after == nil)
            return [(old, false), (new, true)].compactMap { value, isAfter in
                guard isNamed, let value else { return nil }
                let image = ValueImage(
                    label: label, attribute: attribute, revision: revision, isAfter: isAfter)
                return redacted.contains(image) ? nil : (image, value)
            }
        }
    }

    /// Returns the values that a redaction removes, whether a present value is among them, and
    /// whether an attribute that it names has lost no value.
    func redaction(
        _ label: Label, _ attribute: Attribute
    ) -> (lost: [ValueImage], isInUse: Bool, isInVain: Bool) {
        let members = attribute.members.map { memberRedaction(label, $0) }
        return (
            members.flatMap(\.lost), members.contains(where: \.isInUse),
            members.contains(where: \.lost.isEmpty)
        )
    }

    private func memberRedaction(
        _ label: Label, _ attribute: Attribute
    ) -> (lost: [ValueImage], isInUse: Bool) {
        var images = images(label, attribute)
        let present = states[head].objects[label]?.value(attribute)
        if present != nil, let last = images.last?.0, last.isAfter { images.removeLast() }
        return (images.map(\.0), images.contains { $0.value == present })
    }
}

extension ContractRun {
    /// Redacts the former values of an attribute, after all contexts have moved to the last saved
    /// state: earlier states can no longer be shown.
    func redact(_ label: Label, _ attribute: Attribute) throws {
        guard let id = registry.ids[label], let kind = registry.kinds[label],
            (0...reference.head).contains(where: { reference.states[$0].objects[label] != nil })
        else { return }
        for index in scenes.indices where scenes[index].revision != reference.head {
            try performNow(.rollBack, in: index, isInEdit: false)
            try refresh(index)
        }
        let (lost, isInUse, isInVain) = reference.redaction(label, attribute)
        do {
            try request(kind.model, id, attribute).confirm()
        } catch let error as StoreError where error.code == .valueInUse {
            // A request for a value that is only in use is refused, too.
            guard isInUse || isInVain else { throw error }
            return count("redaction refused")
        }
        if isInUse { throw Difference("a value of \(label) that is in use was redacted") }
        // The bytes of a value that nothing saved refers to any more are gone.
        _ = try Contents.write(to: store)
        reference.redacted.formUnion(lost)
        reference.erased.formUnion(lost.map(\.revision))
        for member in attribute.members {
            try compareRedacted(id, member, lost.filter { $0.attribute == member })
        }
        count(lost.isEmpty ? "redaction of nothing" : "redacted")
    }

    private func request<M: Thing>(
        _ type: M.Type, _ id: ObjectID, _ attribute: Attribute
    ) throws -> DestructiveAction {
        switch type {
        case is Box.Type:
            try request(
                Box.self, id, attribute,
                [
                    \.name, \.number, \.key, \.file, \.secret, \.parts, \.trail, \.spot.row,
                    \.pose, \.pose?.row, \.pose?.mark,
                ])
        case is Item.Type:
            try request(
                Item.self, id, attribute,
                [
                    \.name, \.number, \.key, \.file, \.secret, \.parts, \.trail, \.spot.row,
                    \.pose, \.pose?.row, \.pose?.mark,
                ])
        case is Tag.Type:
            try request(
                Tag.self, id, attribute,
                [
                    \.name, \.number, \.key, \.file, \.secret, \.parts, \.trail, \.spot.row,
                    \.pose, \.pose?.row, \.pose?.mark,
                ])
        default:
            try request(
                Leaf.self, id, attribute,
                [
                    \.name, \.number, \.key, \.file, \.secret, \.parts, \.trail, \.spot.row,
                    \.pose, \.pose?.row, \.pose?.mark,
                ])
        }
    }

    /// Requests the redaction of an attribute, which is at the same place in `paths` as among all.
    private func request<M: Model>(
        _ type: M.Type, _ id: ObjectID, _ attribute: Attribute,
        _ paths: [PartialKeyPath<M.Snapshot>]
    ) throws -> DestructiveAction {
        let place = Attribute.allCases.firstIndex(of: attribute) ?? 0
        return try store.requestRedaction(of: type, id: id, paths[place])
    }

    /// Checks that the journal contains none of the values any more, and marks them as redacted.
    private func compareRedacted(
        _ id: ObjectID, _ attribute: Attribute, _ lost: [ValueImage]
    ) throws {
        for revision in Set(lost.map(\.revision)) {
            let commits = try store.journal(
                from: .revision(Revision(UInt64(revision))),
                to: .revision(Revision(UInt64(revision))))
            let change = commits.first?.changeSet.changes.first { $0.id == id }
            let property = change?.properties.first { $0.name == attribute.rawValue }
            guard let property, property.redacted != PropertyChange.RedactedSides() else {
                throw Difference("commit \(revision) still has \(attribute) of \(id)")
            }
        }
    }
}
