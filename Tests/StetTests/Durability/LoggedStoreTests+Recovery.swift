import Glibc
import Stet
import StetLMDB
import StetStore
import StetTestSupport
import Testing

#if STET_FAULTS
    extension LoggedStoreTests {
        /// A recovery repeats several commits as one, so that numbers of LMDB are used again.
        @Test func theLastCommitIsKnownAfterARecoveryInTheSameProcess() throws {
            let store = try open(.logged)
            defer { store.close() }
            try save("A", "B", "C", in: store)
            #expect(try store.revision() == 3)
            let environment = store.file.environment
            environment.faults.failNext(.leaveLog, code: EIO)
            #expect(throws: LMDBError.self) { try environment.log.leave(erasing: false) }
            for revision in UInt64(4)...8 {
                try save("\(revision)", in: store)
                #expect(try store.revision() == Revision(revision))
            }
            #expect(try names(store).count == 8)
        }

        /// Others have the file open, so that nobody recovers it: without the sync a power cut
        /// would leave a file of torn pages, and nothing that names their log.
        @Test func aProcessThatTakesOverSyncsThePagesBeforeTheMarkIsGone() throws {
            let store = try open(.synced)
            defer { store.close() }
            let trace = directory.file("trace")
            func write(_ durability: String, count: Int, killAfter: Int? = nil) throws -> Int {
                let outcome = try ChildProcess.run(
                    ["write", path, "\(count)"],
                    environment: [
                        "LD_PRELOAD": "\(ChildProcess.buildFolder)/libStetRecorder.so",
                        "STET_RECORD_FILE": path, "STET_RECORD_LOG": trace,
                        "STET_DURABILITY": durability,
                    ], killAfter: killAfter)
                #expect(outcome.wasKilled == (killAfter != nil))
                return outcome.lines.count
            }
            #expect(try write("logged", count: 1_000_000, killAfter: 5) >= 5)
            #expect(try write("synced", count: 1) == 1)
            let recorded = try WriteTrace(contentsOf: trace)
            let dataFile = try #require(
                zip(recorded.events, recorded.files).first { Self.isOfMark($0.0, removal: false) }
            ).1
            let events = zip(recorded.events, recorded.files).filter { $0.1 == dataFile }.map(\.0)
            let removal = try #require(events.lastIndex { Self.isOfMark($0, removal: true) })
            let before = events[..<removal].last { !Self.isOfMark($0, removal: true) }
            #expect(before == .sync)
            #expect(try store.verify().isClean)
        }

        /// Returns whether an event writes a mark, or removes one.
        private static func isOfMark(_ event: WriteTrace.Event, removal: Bool) -> Bool {
            guard case .write(let offset, let bytes) = event, offset % 4_096 == 2_048 else {
                return false
            }
            return bytes.count == 32 && bytes.allSatisfy { $0 == 0 } == removal
        }
    }
#endif
