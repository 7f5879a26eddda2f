import FoundationEssentials
import StetStore

/// A change set in JSON, as an application may keep or send it.
enum FuzzedJSON {
    static func decode(_ input: inout HostileInput) throws {
        let changes = try JSONDecoder().decode(ChangeSet.self, from: Data(input.remainder()))
        _ = changes.changes.map(\.description)
        let again = try JSONDecoder().decode(
            ChangeSet.self, from: JSONEncoder().encode(changes))
        try promise(again == changes, "a change set has become another")
    }
}
