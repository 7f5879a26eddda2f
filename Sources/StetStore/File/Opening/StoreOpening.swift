import Logging
import StetLMDB

/// The opening of a store for declared models: creates its file when there is none, and migrates a
/// store of earlier models.
struct StoreOpening {
    private let path: String
    private let schema: Schema
    private let declared: DeclaredModels
    private let configuration: StoreFile.Configuration

    init(
        _ path: String, _ schema: Schema, _ origins: SchemaOrigins,
        _ configuration: StoreFile.Configuration
    ) {
        self.path = path
        self.schema = schema
        self.configuration = configuration
        declared = DeclaredModels(schema: schema, origins: origins)
    }

    /// Opens the store; a new one begins with the seed.
    ///
    /// - Throws: `StoreError`.
    func open(seededFrom seed: String?) throws -> StoreFile {
        try StoreError.wrapping(path: path) {
            let entityCount = StoreFile.entityCount(ofFileAt: path) + schema.entities.count
            let place = try StorePlace(lookingAt: path)
            try place.check(allowsUnsafe: configuration.allowsUnsafePlace)
            if place.dataFile == nil { try create(seededFrom: seed, entityCount) }
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

    private func create(seededFrom seed: String?, _ entityCount: Int) throws {
        try Environment.refuseInUse(path)
        try StoreCreation.refuseLog(of: path)
        if let seed {
            try StoreCreation.seed(path, from: seed, declared)
        } else {
            try StoreCreation.create(
                at: path, schema, configuration.ofEnvironment(entityCount: entityCount))
        }
    }

    /// Begins the migration of an environment in which no store is open yet.
    private func prepare(_ environment: Environment) throws {
        _ = try environment.read { try StoreTables.identity(in: $0) }
        try SchemaUpdate(environment, declared, configuration).prepare()
    }
}
