/// The contents of a value that is copied often, behind one reference.
///
/// A copy costs a count of references, whatever the contents hold.
final class SharedContents<Contents: Hashable & Sendable>: Hashable, Sendable {
    let contents: Contents

    init(_ contents: Contents) { self.contents = contents }

    static func == (one: SharedContents, other: SharedContents) -> Bool {
        one === other || one.contents == other.contents
    }

    func hash(into hasher: inout Hasher) { hasher.combine(contents) }
}
