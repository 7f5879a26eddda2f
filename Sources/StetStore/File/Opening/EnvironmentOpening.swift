import Logging
import StetLMDB

/// The opening of the environment of a store that exists, with the checks of its file.
struct EnvironmentOpening {
    let place: StorePlace
    let configuration: StoreFile.Configuration

    /// Opens the environment after the checks of its file, which its log may first have to restore.
    func open(_ declared: DeclaredModels?, entityCount: Int) throws -> Environment {
        let path = place.path
        let options = configuration.ofStore(entityCount: entityCount)
        // Pages of a file that needs its log can only be judged after the recovery.
        let isMarked = LogMark.read(path: path) != nil
        let recovered = isMarked ? try Environment.open(at: path, options) : nil
        try StoreFile.refuseUnusable(path)
        try StoreFile.refuseForeign(place, declared)
        let environment = try recovered ?? Environment.open(at: path, options)
        if configuration.inspectsPages || environment.lacksLog {
            try StoreFile.refuseDamaged(try environment.inspectPages(), path)
        }
        if environment.lacksLog, environment.attached == nil { try accept(environment) }
        return environment
    }

    /// Accepts a store whose log is missing if all of it verifies, before it is migrated.
    private func accept(_ environment: Environment) throws {
        do {
            let file = try StoreFile.connect(environment, nil, configuration)
            if let problem = try file.verify().problems.first {
                throw StoreError.damaged(problem, path: place.path)
            }
            try environment.log.acceptMissing()
        } catch {
            environment.close()
            throw error
        }
        configuration.logger.warning(
            "The store was opened without its log: its last commits may be missing.")
    }
}
