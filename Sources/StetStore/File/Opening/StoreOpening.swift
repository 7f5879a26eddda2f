import Logging
import StetLMDB

/// The opening of a store for declared models: creates its file when there is none, and migrates a
/// store of earlier models.
struct StoreOpening {
    /// The creation of the file when there is none.
    let creation: StoreCreation
    private var path: String { creation.path }
    private var declared: DeclaredModels { creation.declared }
    private var configuration: StoreFile.Configuration { creation.configuration }

    /// Opens the store.
    ///
    /// - Throws: `StoreError`.
    func open() throws -> StoreFile {
        try StoreError.wrapping(path: path) {
            let newCount = declared.schema.entities.count
            let entityCount = StoreFile.entityCount(ofFileAt: path) + newCount
            let place = try StorePlace(lookingAt: path)
            try place.check(allowsUnsafe: configuration.allowsUnsafePlace)
            if place.dataFile == nil { try creation.create() }
            let opening = EnvironmentOpening(place: place, configuration: configuration)
            let environment = try opening.open(declared, entityCount: entityCount)
            WriterThread.awaitRelease(of: environment) { file in
                let lacksJournal = configuration.sharedJournal != nil && file.shared == nil
                return lacksJournal || (try? StoreFile.refuseOthers(file, declared)) == nil
            }
            if environment.attached == nil { try prepare(environment) }
            let file = try environment.attachment {
                try StoreFile.connect(environment, declared, configuration)
            }
            try StoreFile.refuseOthers(file, declared)
            try DerivationWork.perform(on: file)
            if file.retention != configuration.retention {
                configuration.logger.warning(
                    "The store is open in this process with another retention, which stays.")
            }
            return file
        }
    }

    /// Begins the migration of an environment in which no store is open yet.
    private func prepare(_ environment: Environment) throws {
        _ = try environment.read { try StoreTables.identity(in: $0) }
        try SchemaUpdate(environment, declared, configuration).prepare()
    }
}
