import Glibc
import Logging
import StetLMDB

/// Makes the file of a node, or applies what its shared journal has and the file lacks, before the
/// store is opened.
struct NodeOpening {
    private let path: String
    private let journal: any SharedJournal
    private var configuration: StoreFile.Configuration

    /// The files that threads of this process make or update.
    private static let underWay = Monitor<Set<String>>([])

    /// Opens a store; that of a node after its file was made or updated, and follows the journal.
    ///
    /// - Throws: `StoreError`; for a node also: `.journalUnavailable` when the file does not exist
    ///   and cannot be made, `.journalDiverged`, `.sharedJournal` when the file is that of a store
    ///   that was never attached to a shared journal.
    static func open(_ opening: StoreOpening) throws -> StoreFile {
        let creation = opening.creation
        let configuration = creation.configuration
        guard let journal = configuration.sharedJournal, !configuration.isMigration else {
            return try opening.open()
        }
        let path = creation.path
        try refuseLargeValues(creation)
        let node = NodeOpening(path: path, journal: journal, configuration: configuration)
        while true {
            do {
                try node.alone { try node.prepare(creation) }
                let file = try opening.open()
                try node.connect(file)
                return file
            } catch is SharedJournalMoved {
                // Another node saved while this one migrated the store.
            }
        }
    }

    /// Makes the file of a node from the journal's copy if there is none, and applies the entries
    /// that it lacks.
    ///
    /// A journal that does not exist yet, or cannot be reached, is left to `open`.
    static func prepare(_ path: String, _ configuration: StoreFile.Configuration) throws {
        guard let journal = configuration.sharedJournal else { return }
        let node = NodeOpening(path: path, journal: journal, configuration: configuration)
        try node.alone {
            if try StoreFile.exists(path) {
                if !Environment.isOpen(path) { try node.unlessUnavailable(node.catchUp) }
            } else {
                _ = try node.fetchBase()
            }
        }
    }

    /// Refuses models with large values: the journal has the commits, and not their bytes.
    private static func refuseLargeValues(_ creation: StoreCreation) throws {
        guard creation.declared.schema.hasLargeValues else { return }
        throw StoreError(
            .invalidSchema, path: creation.path,
            message: "The models have large data, which a shared journal does not carry.",
            advice: "Keep large data in a store without a shared journal, or elsewhere.")
    }

    private init(
        path: String, journal: any SharedJournal, configuration: StoreFile.Configuration
    ) {
        self.path = path
        self.journal = journal
        self.configuration = configuration
        self.configuration.sharedJournal = journal
    }

    /// Runs `body` while no other thread makes or updates the file.
    ///
    /// - Throws: the errors of `body`, those of the layers below as `StoreError`.
    private func alone<Result>(_ body: () throws -> Result) throws -> Result {
        Self.underWay.wait { $0.insert(path).inserted ? () : nil }
        defer {
            Self.underWay.withLock { _ = $0.remove(path) }
            Self.underWay.notify()
        }
        return try StoreError.wrapping(path: path, body)
    }

    /// Lets an opened store follow the journal, unless it does already.
    private func connect(_ file: StoreFile) throws {
        guard let link = file.shared else {
            throw StoreError.sharedJournal(
                "it is open in this process without its journal", path: path)
        }
        try unlessUnavailable { try StoreNode(file).follow() }
        try link.follower.start(path: path) { [weak file] in
            file.map { StoreNode($0).followInBackground() }
        }
    }

    private func prepare(_ creation: StoreCreation) throws {
        if try !StoreFile.exists(path) {
            while try !fetchBase(), try !create(creation) {}
        } else if Environment.isOpen(path) {
            return
        }
        try unlessUnavailable { try catchUp() }
    }

    /// Runs `body`; a journal that cannot be reached is no error, because the file can be read.
    private func unlessUnavailable(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as StoreError where error.code == .journalUnavailable {
            configuration.logger.warning(
                "The store was opened without its shared journal, which can't be reached.",
                metadata: ["error": "\(error.message)"])
        }
    }

    // MARK: A new node

    /// The number of times that a copy is fetched while others trim the entries that follow it.
    private static let fetchLimit = 10

    /// Makes the file from the copy that the journal has; returns false when there is none.
    private func fetchBase() throws -> Bool {
        for _ in 1..<Self.fetchLimit {
            do {
                return try fetchPresentBase()
            } catch let error as StoreError where error.code == .historyTrimmed {
                // There is a later copy now.
            }
        }
        return try fetchPresentBase()
    }

    private func fetchPresentBase() throws -> Bool {
        try StoreCreation.refuseRemains(of: path)
        let draft = try Draft(of: path)
        defer { draft.remove() }
        var isThere = false
        try StoreCopier.writeFile(at: draft.path) { receive in
            isThere = try reading { try journal.readBase(receive) }
        }
        guard isThere else { return false }
        var replay = try JournalReplay(draft.path)
        defer { replay.file.close() }
        try refuseUnattached(replay.file)
        try catchUp(&replay)
        replay.file.close()
        try StoreCreation.publishUnlessThere(draft)
        return true
    }

    /// Makes the file of a new store, and its journal; returns false when another node was first.
    private func create(_ creation: StoreCreation) throws -> Bool {
        try creation.create(isNode: true) { draft, store, head in
            let head = SharedJournalHead(head, of: store)
            return try reading { try journal.create(at: head, base: draft) }
        }
    }

    /// Makes the file anew, and keeps the one that was there as `former`.
    ///
    /// - Throws: `StoreError`: `.storeBusy` when the file is in use, `.alreadyExists` when there is
    ///   another former one, `.notFound` when the journal has no store; nothing was changed then.
    static func remake(
        _ path: String, former: String, _ journal: any SharedJournal
    ) throws {
        let new = NodeOpening(
            path: "\(path).remade", journal: journal, configuration: StoreFile.Configuration())
        func check() throws {
            if try Environment.isInUse(path) {
                throw StoreError(
                    .storeBusy, path: path, message: "The store \(path) is open.",
                    advice: "Close it in all processes first.")
            }
            if access(former, F_OK) == 0 { throw StoreCopier.alreadyExists(former) }
        }
        try check()
        // One that a killed process has left is removed, too.
        StoreFile.removeCopy(at: new.path)
        defer { StoreFile.removeCopy(at: new.path) }
        guard try new.fetchBase() else {
            throw StoreError(
                .notFound, path: path, message: "The shared journal \(journal.name) has no store.",
                advice: "Nothing was changed. Check the names of the database and of the store.")
        }
        try NodeOpening(path: path, journal: journal, configuration: new.configuration).alone {
            try check()
            if try StoreFile.exists(path) { try FileSystem.rename(path, toUnused: former) }
            StoreFile.removeCopy(at: path)
            try FileSystem.rename(new.path, toUnused: path)
            try FileSystem.syncDirectory(of: path)
        }
    }

    // MARK: A node that was away

    /// Applies what the journal has and the file at `path` lacks; returns the head of both, or nil
    /// when there is no such journal any more.
    static func caughtUp(
        _ path: String, _ journal: any SharedJournal
    ) throws -> SharedJournalHead? {
        let node = NodeOpening(
            path: path, journal: journal, configuration: StoreFile.Configuration())
        return try node.alone {
            guard try journal.head() != nil else { return nil }
            try node.catchUp()
            return try journal.head()
        }
    }

    private func catchUp() throws {
        // It is not closed, because another thread may have opened it since.
        var replay = try JournalReplay(path, configuration)
        try refuseUnattached(replay.file)
        try catchUp(&replay)
    }

    private func catchUp(_ replay: inout JournalReplay) throws {
        guard let link = configuration.link(of: replay.file.storeID, path: path) else { return }
        while true {
            let head = try replay.file.environment.read { try Head.read(in: $0) }
            let entries = try link.entries(after: head)
            if entries.isEmpty { return }
            try replay.append(entries[...])
        }
    }

    private func refuseUnattached(_ file: StoreFile) throws {
        guard try file.environment.read({ try AttachedMark.read(in: $0) }) else {
            throw StoreError(
                .sharedJournal, path: path,
                message: "The store \(path) is not a node of a shared journal.",
                advice: "Attach it to move its journal there, or choose another path for a new "
                    + "node.")
        }
    }

    private func reading<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as SharedJournalError {
            throw StoreError.unavailable(error, journal, path: path)
        }
    }
}
