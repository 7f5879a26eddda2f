import Stet

extension CountedWork {
    private static let words = ["storm", "harbour", "sailing", "weather", "north", "cargo"]

    /// Inserts members of a club, whose notes have words of their own and shared ones.
    func insertMembers(_ count: Int, _ store: Store) throws -> Club {
        let context = store.context(author: "lala")
        let club = Club(name: "the first")
        context.insert(club)
        for number in 0..<count {
            let shared = Self.words[number % Self.words.count]
            let note = "\(shared) report number\(number * 7_919 % 10_007) of the \(shared)"
            context.insert(Member(note, of: club))
        }
        try context.save()
        return club
    }

    /// Changes what an attribute of all members is derived from.
    func derive(_ count: Int, _ store: Store) throws {
        let club = try insertMembers(count, store)
        club.name = "the second"
        try club.context?.save()
        let found = try store.fetch(Member.self) { $0.clubName == "the second" }.count()
        guard found == count else { throw CountFailure("\(found) members have the new name") }
    }

    func search(_ count: Int, _ store: Store) throws {
        _ = try insertMembers(Self.storedCount, store)
        for number in 0..<count {
            let word = Self.words[number % Self.words.count]
            let found = try store.fetch(Member.self).matching("\(word) -cargo").limit(10).all()
            guard found.isEmpty == (word == "cargo") else {
                throw CountFailure("\(word) is found \(found.count) times")
            }
        }
    }
}
