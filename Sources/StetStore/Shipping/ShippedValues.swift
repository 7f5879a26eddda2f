/// The files of large values in a directory that a journal is shipped to: one for each value that
/// the shipped commits have set.
struct ShippedValues {
    private let folder: LargeValueFolder

    init(directory: String) { folder = LargeValueFolder(directory, prefix: "value-") }

    /// Writes the files that the directory lacks of the values that a commit has set.
    ///
    /// - Returns: The number of bytes that were written.
    func write(valuesOf commit: Commit, from file: StoreFile) throws -> Int {
        try commit.largeValuesAfter().reduce(0) { try $0 + folder.write($1, from: file) }
    }

    /// Adds the values that a commit sets, and that the store lacks.
    ///
    /// - Throws: `StoreError` (`.damaged`), with the path of the file.
    func add(valuesOf commit: Commit, to file: StoreFile) throws {
        for value in try commit.largeValuesAfter() {
            guard try folder.load(value, into: file) else {
                throw ShippedJournal.damaged(
                    "it has other bytes than its name says", folder.path(of: value))
            }
        }
    }
}

extension Commit {
    /// Returns the large values that the commit has set, each once.
    fileprivate func largeValuesAfter() throws -> Set<LargeValue> {
        guard schema.hasLargeValues else { return [] }
        var values: Set<LargeValue> = []
        try forEachChange { change in
            try LargeValueCounts.forEachValue(of: change, schema.entities[change.entity]) {
                value, isBefore in
                if !isBefore { values.insert(value) }
            }
        }
        return values
    }
}
