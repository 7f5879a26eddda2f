extension SchemaComparison {
    /// Refuses models to which the store at `path` cannot be migrated without code.
    func refuseProblems(_ path: String) throws {
        guard problems.isEmpty else {
            throw StoreError(
                .modelMismatch, path: path,
                message:
                    "The store was made for other models: \(problems.joined(separator: "; ")).",
                advice: "Open it with the models it was made for, or with a plan that migrates it.")
        }
    }

    /// Refuses models that lack some of the store's, so that nobody loses objects by leaving one
    /// out.
    func refuseMissing(_ path: String) throws {
        guard !missingEntities.isEmpty else { return }
        let (kind, removal) =
            missingEntities.count == 1
            ? ("a model that is", "it with all of its objects, put its name")
            : ("models that are", "them with all of their objects, put their names")
        let models = missingEntities.map { "\($0).self" }.joined(separator: ", ")
        throw StoreError(
            .modelMismatch, path: path,
            message: "The store has \(kind) not among those that it is opened with: "
                + "\(missingEntities.joined(separator: ", ")).",
            advice: "Nothing was changed. Add \(models) to the models, or to remove \(removal) "
                + "into removedModels of the configuration.")
    }
}
