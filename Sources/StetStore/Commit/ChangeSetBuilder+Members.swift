extension ChangeSetBuilder {
    /// Returns the edits of lists of members that follow from the items: in no particular order,
    /// except that an entry is erased before it is put elsewhere.
    borrowing func memberEdits() throws -> [MemberEdit] {
        var edits: [MemberEdit] = []
        edits.reserveCapacity(expectedMemberEdits)
        for item in items { try appendMemberEdits(of: item, to: &edits) }
        for link in links { try appendMemberEdits(of: link, to: &edits) }
        return edits
    }

    /// The number of edits of lists of members, unless references or positions change.
    private var expectedMemberEdits: Int {
        items.reduce(2 * links.count) { $0 + schema.referenceEnds(ofMember: $1.entity).count }
    }

    private borrowing func appendMemberEdits(
        of item: Item, to edits: inout [MemberEdit]
    ) throws {
        let ends = schema.referenceEnds(ofMember: item.entity)
        if ends.isEmpty { return }
        let entity = schema.entities[item.entity]
        let before = item.kind == .insert ? nil : try RecordBody(body(item.before), of: entity)
        let after = item.kind == .delete ? nil : try RecordBody(body(item.after), of: entity)
        for end in ends {
            let old = try before?.reference(end.slot)
            let new = try after?.reference(end.slot)
            let oldPosition = end.isOrdered ? try before?.position(end.slot) : nil
            let newPosition = end.isOrdered ? try after?.position(end.slot) : nil
            if old == new, oldPosition == newPosition { continue }
            if let old {
                edits.append(
                    MemberEdit(
                        end.number, of: old, item.id, oldPosition, .erase, difference: -1))
            }
            if let new {
                edits.append(
                    MemberEdit(end.number, of: new, item.id, newPosition, .put, difference: 1))
            }
        }
    }

    private borrowing func appendMemberEdits(
        of link: LinkChange, to edits: inout [MemberEdit]
    ) throws {
        guard let ends = schema.ends(ofLink: link.key.link) else {
            throw DecodingFailure("a change of links that do not exist")
        }
        let (targets, sources) = (ends.targets, ends.sources)
        let action: MemberEdit.Action = link.after.isPresent ? .put : .bury
        let difference: Int8 =
            (link.after.isPresent ? 1 : 0) - (link.before.isPresent ? 1 : 0)
        edits.append(
            MemberEdit(
                sources.number, of: link.key.target, link.key.source, link.after.position, action,
                difference: difference))
        // The entry of a removed member stands before those that have positions.
        let (old, new) = (link.before.position, link.after.position)
        if targets.isOrdered, old != new, link.previous > .zero || link.before.isPresent {
            edits.append(
                MemberEdit(targets.number, of: link.key.source, link.key.target, old, .erase))
        }
        edits.append(
            MemberEdit(
                targets.number, of: link.key.source, link.key.target, new, action,
                difference: difference))
    }
}
