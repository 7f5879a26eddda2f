import Glibc
import Stet
import StetLMDB
import StetStore
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
    }
#endif
