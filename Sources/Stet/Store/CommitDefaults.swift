/// What the commits of a task say of themselves where nobody says otherwise.
///
/// ```swift
/// try CommitDefaults.$author.withValue("lala") {
///     try store.edit("rename") { context in … }
/// }
/// ```
public enum CommitDefaults {
    /// Who makes the commits of contexts that are made without an author.
    @TaskLocal public static var author: String?
    /// The metadata of contexts that are made.
    @TaskLocal public static var metadata: [String: String] = [:]
}
