extension ListPlacement {
    /// Members in a wanted order, of which as few as possible have other positions than before.
    ///
    /// - Parameters:
    ///   - ids: The members, each once.
    ///   - present: The list as it is: those of its members that stay keep their positions where
    ///     these ascend in the wanted order.
    /// - Returns: The members in the wanted order.
    /// - Complexity: O(members · log members).
    package static func arrange(
        _ ids: [ObjectID], from present: [MemberPlace]
    ) -> [MemberPlace] {
        let positions = Dictionary(
            present.map { ($0.id, $0.position) }, uniquingKeysWith: { first, _ in first })
        var members = ids.map { MemberPlace(positions[$0] ?? nil, $0) }
        let staying = Set(longestAscendingRun(members))
        _ = place(members.indices.filter { !staying.contains($0) }, in: &members)
        return members
    }

    /// The indices of as many members as possible whose positions ascend.
    private static func longestAscendingRun(_ members: [MemberPlace]) -> [Int] {
        // The last index of a run of each length, that with the smallest position; and for each
        // index the one before it in its run.
        var ends: [Int] = []
        var before = [Int?](repeating: nil, count: members.count)
        for (index, member) in members.enumerated() {
            guard let position = member.position else { continue }
            let length = ends.partitionPoint { end in
                members[end].position.map { $0 < position } ?? true
            }
            before[index] = length == 0 ? nil : ends[length - 1]
            if length == ends.count { ends.append(index) } else { ends[length] = index }
        }
        var run: [Int] = []
        var next = ends.last
        while let index = next {
            run.append(index)
            next = before[index]
        }
        return run
    }
}
