import AsyncAlgorithms
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle
import Stet

/// Server-sent events, one for each commit.
///
/// Their ids are revisions, so that a browser that was disconnected continues after the last one it
/// has seen, without gap or repetition.
struct EventStream {
    let store: Store
    /// The time between lines that keep a connection alive while there are no commits.
    var heartbeat = Duration.seconds(15)

    /// Answers with the commits after a revision.
    ///
    /// That is `Last-Event-ID`, or else the revision in `?after=`, or else the last one. A closure
    /// makes the data of an event, or nil if a commit does not matter.
    func response(
        to request: Request, data: @escaping @Sendable (Commit) throws -> String?
    ) -> Response {
        let after =
            request.headers[.lastEventID] ?? request.uri.queryParameters["after"].map(String.init)
        let start = after.flatMap { UInt64($0) }.map { FeedStart.revision(Revision($0)) } ?? .now
        // Taken here, so that no commit is missed between the answer and the first event.
        let commits = store.commits(after: start)
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                // Ends the stream when the client goes away, which nothing else would notice
                // before the next commit.
                var open = writer
                try await request.body.consumeWithCancellationOnInboundClose { _ in
                    try await send(commits, to: &open, data)
                }
                try await open.finish(nil)
            })
    }

    private func send(
        _ commits: Commits, to writer: inout any ResponseBodyWriter,
        _ data: @Sendable (Commit) throws -> String?
    ) async throws {
        try await writer.write(ByteBuffer(string: "retry: 1000\n\n"))
        let beats = AsyncTimerSequence(interval: heartbeat, clock: .continuous).map { _ in
            Commit?.none
        }
        do {
            let events = merge(commits.map(Optional.some), beats).cancelOnGracefulShutdown()
            for try await commit in events {
                guard let commit else {
                    try await writer.write(ByteBuffer(string: ":\n\n"))
                    continue
                }
                // An event without data is not dispatched, but moves the id with which a browser
                // resumes.
                let lines = try data(commit).map { "event: commit\ndata: \($0)\n" } ?? ""
                try await writer.write(ByteBuffer(string: "id: \(commit.revision)\n\(lines)\n"))
            }
        } catch let error as StoreError
            where [.historyTrimmed, .noSuchRevision].contains(error.code)
        {
            // The journal is shorter than it was, or the store is a backup. The client must read
            // the present state, and continue from there.
            let revision = try store.revision()
            try await writer.write(
                ByteBuffer(string: "id: \(revision)\nevent: reset\ndata: {}\n\n"))
        }
    }
}
