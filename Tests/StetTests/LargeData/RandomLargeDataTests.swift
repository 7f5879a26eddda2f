import Foundation
import StetStore
import StetTestSupport
import Testing

@testable import Stet

/// Random edits of large data in two contexts, with merges, undos, trims, redactions and copies,
/// beside the bytes that each photo should have.
@Suite struct RandomLargeDataTests {
    private typealias Photo = Gallery.Photo

    private final class Driver {
        let gallery: Gallery
        var random: SeededGenerator
        var contexts: [ManagedContext] = []
        var contents: [LargeData: Data] = [:]
        /// The times at which they were written last.
        var times: [LargeData: Double] = [:]

        init(seed: UInt64) throws {
            random = SeededGenerator(seed: seed)
            gallery = try Gallery()
            makeContexts()
        }

        func makeContexts() {
            contexts = (0..<2).map { gallery.store.context(author: "author \($0)") }
            for context in contexts { context.mergePolicy = .mergeContextWins }
        }

        func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
        func any<T>(_ objects: [T]) -> T? { objects.isEmpty ? nil : objects[number(objects.count)] }

        /// Writes bytes of which there are only some.
        func file() throws -> LargeData {
            let number = number(12)
            let data = Gallery.bytes([0, 10, 66_000, 140_000][number % 4], number)
            let file = try LargeData(data, in: gallery.store)
            contents[file] = data
            times[file] = gallery.clock.now().timeIntervalSinceReferenceDate
            return file
        }

        func step() async throws {
            let context = contexts[number(2)]
            switch number(24) {
            case 0...11: try edit(context)
            case 12...15: try await save(context)
            case 16, 17: try await undo()
            case 18: gallery.clock.pass(days: 0.7)
            case 19: try trim()
            case 20: try redact()
            case 21: _ = try file()
            case 22: if number(4) == 0 { try gallery.store.compactInPlace() }
            default:
                try gallery.reopen()
                makeContexts()
            }
        }

        private func undo() async throws {
            let author = "author \(number(2))"
            do {
                if number(2) == 0 {
                    try await gallery.store.undo(author: author, policy: .skip)
                } else {
                    try await gallery.store.redo(author: author, policy: .skip)
                }
            } catch let error as StoreError
                where [.erased, .historyTrimmed].contains(error.code)
            {
                // The commit was redacted or trimmed.
            }
        }

        private func save(_ context: ManagedContext) async throws {
            let pending = try context.fetch(Photo.self).all().compactMap(\.file)
            do {
                try await context.save()
            } catch is ConflictError {
                context.rollback()
            } catch let error as StoreError where error.code == .largeDataMissing {
                // Only what was written over a day ago may be gone.
                let now = gallery.clock.now().timeIntervalSinceReferenceDate
                #expect(pending.contains { now - (times[$0] ?? now) > 24 * 60 * 60 })
                context.rollback()
            }
        }

        private func edit(_ context: ManagedContext) throws {
            let photos = try context.fetch(Photo.self).all()
            switch number(6) {
            case 0, 1: context.insert(Photo(title: "\(number(100))", file: try file()))
            case 2: any(photos)?.file = try file()
            case 3: any(photos)?.file = any(photos)?.file
            case 4: any(photos)?.title = "\(number(100))"
            default: if let photo = any(photos) { context.delete(photo) }
            }
        }

        private func trim() throws {
            let head = try gallery.store.revision().number
            if head < 2 { return }
            try gallery.store.requestTrim(before: Revision(UInt64(number(Int(head))))).confirm()
            // A context of a commit that was trimmed shows nothing any more.
            for context in contexts {
                do { try context.refresh() } catch is ConflictError { context.rollback() }
            }
        }

        private func redact() throws {
            let commits = try gallery.store.journal(from: .revision(floor().next))
            let changes = commits.flatMap(\.changeSet.changes)
            guard let change = any(changes) else { return }
            do {
                try gallery.store.requestRedaction(of: Photo.self, id: change.id, \.file).confirm()
            } catch let error as StoreError where error.code == .valueInUse {
                return
            }
            // They may be erased at once.
            for property in changes.filter({ $0.id == change.id }).flatMap(\.properties) {
                for value in [property.old, property.new] {
                    if let file = LargeData(_value: value) { times[file] = -.infinity }
                }
            }
        }

        /// The last commit that was trimmed.
        private func floor() throws -> Revision { try gallery.store.file.read { try $0.floor() } }

        func check() throws {
            #expect(try gallery.store.verify().problems == [])
            for photo in try gallery.store.fetch(Photo.self).all() {
                guard let file = photo.file else { continue }
                #expect(try file.data(in: gallery.store) == contents[file])
            }
            // Whatever the journal shows can be read.
            let head = try gallery.store.revision().number
            for number in try floor().number..<head where number > 0 {
                let view = try gallery.store.view(asOf: Revision(number))
                for photo in try view.fetch(Photo.self).all() {
                    guard let file = photo.file else { continue }
                    #expect(try file.data(in: gallery.store) == contents[file])
                }
            }
        }
    }

    @Test(arguments: 1...repetitions(16))
    func whatCanBeReachedCanBeRead(seed: Int) async throws {
        let driver = try Driver(seed: UInt64(seed))
        for step in 0..<160 {
            try await driver.step()
            if step % 20 == 19 { try driver.check() }
        }
        // In the end nothing is left of what nobody refers to.
        for context in driver.contexts { context.rollback() }
        driver.gallery.clock.pass(days: 3)
        let gallery = driver.gallery
        gallery.context.insert(Photo(title: "last"))
        try await gallery.context.save()
        try gallery.store.requestTrim(before: try gallery.store.revision()).confirm()
        let files = Set(try gallery.store.fetch(Photo.self).all().compactMap(\.file))
        #expect(try gallery.counts().values == files.count)
        #expect(try gallery.store.verify().problems == [])
    }
}
