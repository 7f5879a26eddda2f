extension ListPlacement {
    /// Returns members in a wanted order, changing as few positions as possible.
    ///
    /// - Parameters:
    ///   - ids: The members, each once.
    ///   - present: The current list; members that stay keep their positions where these ascend in
    ///     the wanted order.
    /// - Returns: The members in the wanted order.
    /// - Complexity: O(members · log members).
    package static func arrange(
        _ ids: [ObjectID], from present: [MemberPlace]
    ) -> [MemberPlace] {
        let positions = Dictionary(
            present.map { ($0.id, $0.position) }, uniquingKeysWith: { first, _ in first })
        var members = ids.map { MemberPlace(positions[$0] ?? nil, $0) }
        let staying = Set(members.longestAscendingRun(by: \.ifPlaced))
        _ = place(members.indices.filter { !staying.contains($0) }, in: &members)
        return members
    }
}
