import Stet

extension ContractRun {
    /// Finds the object with a key, or inserts one, and compares which one it is.
    func upsert(
        _ label: Label, _ kind: Kind, _ key: String, _ number: Int, _ name: String,
        in index: Int
    ) throws {
        let wanted = scenes[index].now.alive(kind, with: key, number)
        let found = try stages[index].upsert(label, kind, key, number, name)
        guard wanted.isEmpty ? found == label : wanted.contains(found) else {
            throw Difference("upsert by \(key) \(number) gives \(found), not one of \(wanted)")
        }
        if wanted.isEmpty { reference.known.insert(label) }
        scenes[index].apply(.upsert(found, kind, key: key, number: number, name: name))
        count(wanted.isEmpty ? "inserted by upsert" : "found by upsert")
    }
}
