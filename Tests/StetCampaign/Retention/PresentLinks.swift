import StetStore

/// The two ends of links that do not say the same.
struct EndsDiffer: Error, CustomStringConvertible {
    let description: String
}

extension StoreReader {
    /// All links that are present at a revision, as their sources have them.
    func links(asOf revision: Revision) throws -> [LinkKey: Membership] {
        try members(asOf: revision) { $0.targets }
    }

    /// The same, when the targets have no others.
    ///
    /// - Throws: `EndsDiffer` when they have.
    func comparedLinks(asOf revision: Revision) throws -> [LinkKey: Membership] {
        let links = try links(asOf: revision)
        let backwards = try members(asOf: revision) { $0.sources }
        let keys = Set(links.keys).symmetricDifference(backwards.keys).sorted()
        guard keys.isEmpty else {
            throw EndsDiffer(
                description: "\(keys.count) links are at one end only at revision \(revision): "
                    + "\(keys[0])")
        }
        return links
    }

    private func members(
        asOf revision: Revision, at end: (LinkEnds) -> MemberEnd
    ) throws -> [LinkKey: Membership] {
        var links: [LinkKey: Membership] = [:]
        for number in file.schema.links.indices.map({ $0 + 1 }) {
            guard let end = file.schema.ends(ofLink: number).map(end) else { continue }
            try forEachRecord(ofEntity: end.owner, asOf: revision) { owner, _ in
                for place in try linkedMembers(of: owner, at: end, asOf: revision) {
                    if let key = end.linkKey(owner, place.id) {
                        links[key] = .present(place.position)
                    }
                }
                return true
            }
        }
        return links
    }
}
