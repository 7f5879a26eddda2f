import Glibc
import StetLMDB

/// A state of a store to be restored from a shipped journal.
package enum RestorePoint: Hashable, Sendable {
    /// A revision; `.earliest` means that of the earliest base, `.latest` the last shipped one.
    case bound(Revision.Bound)
    /// The last commit that is dated no later than a time, in seconds since 2001.
    case time(Double)
}

extension StoreCopy {
    /// Makes a store of the latest base that is not after a state, and the commits that were
    /// shipped from there on.
    ///
    /// It is written under a temporary name, verified, and renamed when it is complete. It has the
    /// id of the shipped store, its commits up to that state, and the durable subscriptions of the
    /// base.
    ///
    /// - Parameters:
    ///   - directory: The directory of the shipped journal.
    ///   - path: The path of the store, where no file may exist.
    ///   - point: The state.
    ///   - progress: Receives the number of commits that are added.
    /// - Returns: The verification report of the store, and its size.
    /// - Throws: `StoreError`: `.alreadyExists`, `.notFound` when the directory has no base,
    ///   `.historyTrimmed` for a state before the first base, `.noSuchRevision` for one that was
    ///   not shipped, `.damaged` for a file that is damaged or missing, `.wrongStore` for one of
    ///   another store. `CancellationError` when the task is cancelled.
    /// - Complexity: O(bytes of the base, and of the commits that are added).
    package static func restore(
        from directory: String, to path: String, at point: RestorePoint,
        progress: ShippingProgress = ShippingProgress()
    ) throws -> StoreCopy {
        try StoreError.wrapping(path: path) {
            try StoreCopier.refuseUsed(path)
            let shipped = try ShippedJournal(directory)
            let target = try shipped.revision(of: point)
            guard let base = shipped.bases.last(where: { $0 <= target }) else {
                throw shipped.beforeFirstBase("revision \(target)")
            }
            let draft = try StoreCopier.naming(path) { try Draft(of: path) }
            defer { draft.remove() }
            let basePath = shipped.path(ofBase: base)
            try StoreCreation.copyFile(basePath, to: draft.path, path)
            let report = try Restoration(shipped: shipped, path: draft.path, base: base)
                .run(to: target, progress)
            try StoreCopier.publish(draft)
            var status = stat()
            stat(path, &status)
            return StoreCopy(report: report, byteCount: Int(status.st_size))
        }
    }
}

/// Adds shipped commits to a copy of a base.
private struct Restoration {
    let shipped: ShippedJournal
    let path: String
    let base: Revision

    func run(to target: Revision, _ progress: ShippingProgress) throws -> VerificationReport {
        let expected = try shipped.base(base)
        var replay = try naming(expected.path) {
            try JournalReplay(path, ShippedValues(directory: shipped.directory))
        }
        defer { replay.file.close() }
        var reached = base
        for range in shipped.segments where range.upperBound > reached && reached < target {
            try Task.checkCancellation()
            let file = shipped.path(ofSegment: range)
            guard range.lowerBound <= reached.next else { throw gap(after: reached, file) }
            let segment = try shipped.segment(range)
            guard segment.store == expected.store else {
                throw StoreError(
                    .wrongStore, path: file,
                    message: "The shipped file \(file) is of another store.",
                    advice: "Remove it from the directory.")
            }
            let entries = segment.entries.drop { $0.envelope.revision <= reached }
                .prefix { $0.envelope.revision <= target }
            try naming(file) { try replay.append(entries) }
            reached = min(range.upperBound, target)
            progress.finished(
                Int(reached.number - base.number), Int(target.number - base.number))
        }
        guard reached == target else { throw gap(after: reached, shipped.directory) }
        try LargeValueCounts.renew(in: replay.file)
        let report = try naming(expected.path) {
            try replay.file.verify { try Task.checkCancellation() }
        }
        if let problem = report.problems.first {
            throw ShippedJournal.damaged("the restored store does not verify: \(problem)", path)
        }
        return report
    }

    private func gap(after revision: Revision, _ path: String) -> StoreError {
        ShippedJournal.damaged("the commits after \(revision) are missing before it", path)
    }

    /// Runs `body`, changing errors that concern the draft to name the shipped file.
    private func naming<Result>(_ file: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let failure as DecodingFailure {
            throw ShippedJournal.damaged(failure.description, file)
        } catch let error as StoreError where error.code == .damaged {
            throw ShippedJournal.damaged(error.message, file)
        }
    }
}

extension ShippedJournal {
    /// Returns the revision of a state.
    fileprivate func revision(of point: RestorePoint) throws -> Revision {
        guard let first = bases.first, let newest = bases.last else {
            throw StoreError(
                .notFound, path: directory, message: "There is no base in \(directory).",
                advice: "Name the directory that the journal was shipped to.")
        }
        let last = max(newest, segments.last?.upperBound ?? .zero)
        switch point {
        case .bound(.earliest): return first
        case .bound(.latest): return last
        case .bound(.revision(let revision)):
            guard revision <= last else {
                throw StoreError.noSuchRevision(revision, head: last, path: directory)
            }
            return revision
        case .time(let time):
            guard let revision = try lastRevision(until: time) else {
                throw beforeFirstBase("a commit of that time")
            }
            return revision
        }
    }

    /// Returns the last commit that is dated no later than a time; nil for none.
    ///
    /// - Complexity: O(bytes of the segments since then).
    private func lastRevision(until time: Double) throws -> Revision? {
        let newest = try bases.last { try base($0).head.time <= time }
        for range in segments.reversed() {
            if let newest, range.upperBound <= newest { break }
            let dated = try segment(range).entries.last { $0.envelope.time <= time }
            if let dated { return max(dated.envelope.revision, newest ?? .zero) }
        }
        return newest
    }

    fileprivate func beforeFirstBase(_ what: String) -> StoreError {
        StoreError(
            .historyTrimmed, path: directory,
            message: "The directory \(directory) has no base before \(what).",
            advice: "The earliest state that can be restored is that of revision "
                + "\(bases.first ?? .zero).")
    }
}
