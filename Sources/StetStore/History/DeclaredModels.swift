/// The models with which a process opens a store.
struct DeclaredModels {
    let schema: Schema
    let origins: SchemaOrigins

    func comparison(with stored: Schema) throws -> SchemaComparison {
        try SchemaComparison(of: stored, with: schema, origins)
    }
}
