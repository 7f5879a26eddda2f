import Foundation
import Glibc
import StetStore
import Testing

/// Files that appear when they are whole.
struct NewFileTests {
    private let directory: StoreDirectory

    init() throws { directory = try StoreDirectory() }

    private func write(_ text: String, to file: NewFile) {
        #expect(Glibc.write(file.descriptor, text, text.utf8.count) == text.utf8.count)
    }

    @Test func aFileIsThereWhenItIsPublished() throws {
        do {
            let file = try NewFile(at: directory.file("new"))
            write("text", to: file)
            #expect(directory.names.allSatisfy { $0.hasPrefix("new.new-") })
            try file.publish()
        }
        #expect(directory.names == ["new"])
        #expect(try directory.bytes("new") == Data("text".utf8))
    }

    @Test func whatIsNotPublishedIsRemoved() throws {
        do { write("text", to: try NewFile(at: directory.file("new"))) }
        #expect(directory.names == [])
    }

    @Test func aNameThatIsTakenIsRefusedAtTheBeginningAndAtTheEnd() throws {
        let late = try NewFile(at: directory.file("new"))
        try directory.write(Data([1]), to: "new")
        #expect(thrown(StoreError.self) { try late.publish() }?.code == .alreadyExists)
        let path = directory.file("new")
        #expect(thrown(StoreError.self) { try NewFile(at: path) }?.code == .alreadyExists)
        #expect(try directory.bytes("new") == Data([1]))
    }
}
