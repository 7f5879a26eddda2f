import Stet
import StetStore
import StetTestSupport
import Testing

private enum Guarded {
    @Model(.protected) final class Invoice {
        var number: Int

        init(number: Int) { self.number = number }
    }
}

private enum Free {
    @Model final class Invoice {
        var number: Int

        init(number: Int) { self.number = number }
    }
}

/// The stored schema says which models are protected, for programs without the models.
struct StoredProtectionTests {
    private let directory = TemporaryDirectory()

    private func isProtected() throws -> Bool? {
        let file = try StoreFile.open(at: directory.file())
        defer { file.close() }
        return file.schema.entity(named: "Invoice")?.isProtected
    }

    @Test func theStoredSchemaFollowsTheModelsWithoutAMigration() throws {
        try Store.open(at: directory.file(), for: Guarded.Invoice.self).close()
        #expect(try isProtected() == true)
        try Store.open(at: directory.file(), for: Free.Invoice.self).close()
        #expect(try isProtected() == false)
        let store = try Store.open(at: directory.file(), for: Guarded.Invoice.self)
        #expect(try store.revision() == 0)
        store.close()
        #expect(try isProtected() == true)
    }
}
