extension Commit {
    /// The default author and metadata of the commits of a task.
    ///
    /// ```swift
    /// try Commit.Defaults.$author.withValue("lala") {
    ///     try store.edit("rename") { context in … }
    /// }
    /// ```
    public enum Defaults {
        /// The author of contexts that are made without one.
        @TaskLocal public static var author: String?
        /// The metadata of contexts that are made in the task.
        @TaskLocal public static var metadata: [String: String] = [:]
    }
}
