/// The object by whose key the values of an attribute are encrypted.
public enum Seal: Hashable, Sendable {
    /// the object with the attribute
    case own
    /// the object to which the reference with this name refers
    case reference(String)

    /// The name of the reference; "itself" for the own object.
    package var ownerName: String {
        switch self {
        case .own: "itself"
        case .reference(let name): name
        }
    }
}
