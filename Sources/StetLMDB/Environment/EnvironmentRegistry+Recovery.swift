extension EnvironmentRegistry {
    /// Restores a file whose last process has written it through a log and not closed it, unless
    /// others have it open: what they see is whole.
    ///
    /// The caller has the right to open.
    ///
    /// - Returns: whether the log is missing, which the configuration allows.
    static func recover(
        _ locks: FileLocks, _ configuration: Environment.Configuration
    ) throws(LMDBError) -> Bool {
        let recovery = LogRecovery(locks.path, locks.dataDescriptor, configuration)
        guard recovery != nil || LogFiles.exist(locks.path), try locks.isAlone() else {
            return false
        }
        guard let recovery else {
            try LogMark.remove(locks.dataDescriptor, locks.path)
            LogFiles.remove(locks.path)
            return false
        }
        do throws(LMDBError) {
            let count = try recovery.run()
            configuration.recovered(count)
            return false
        } catch {
            let isMissing = [LMDBError.missingLog, LMDBError.unsynced].contains(error.code)
            guard configuration.ignoresMissingLog, isMissing else { throw error }
            return true
        }
    }
}
