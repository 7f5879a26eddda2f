extension Environment {
    /// Opens the file at `path`, or returns the environment that this process already has open for
    /// it.
    ///
    /// - Throws: `LMDBError`; `EBUSY` when the file was closed while one of its transactions is
    ///   still open.
    package static func open(
        at path: String, _ configuration: Configuration = Configuration()
    ) throws(LMDBError) -> Environment {
        try EnvironmentRegistry.shared.environment(at: path, configuration)
    }

    /// Returns whether this process has the file at `path` open.
    package static func isOpen(_ path: String) -> Bool {
        EnvironmentRegistry.shared.isOpen(path)
    }

    /// Returns whether any process has the file at `path` open.
    package static func isInUse(_ path: String) throws(LMDBError) -> Bool {
        try EnvironmentRegistry.shared.isInUse(path)
    }

    /// Refuses a place where a file would be created while processes have an earlier one open.
    package static func refuseInUse(_ path: String) throws(LMDBError) {
        try EnvironmentRegistry.shared.refuseInUse(lockFileOf: path)
    }
}
