import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Stet

/// The requests of the operator: health, metrics, backups, and the erasure of a person.
struct Operations {
    let store: Store
    let metrics: PrometheusMetrics
    /// The directory of backups.
    let backups: URL

    func add(to router: RouterGroup<TrackerContext>) {
        router.get("health/live") { _, _ in HTTPResponse.Status.ok }
        router.get("health/ready") { request, context in
            let health = store.health()
            let response = try context.responseEncoder.encode(
                health, from: request, context: context)
            return EditedResponse(
                status: health.canSave ? .ok : .serviceUnavailable, response: response)
        }
        router.get("metrics") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "text/plain; version=0.0.4"],
                body: .init(byteBuffer: ByteBuffer(string: metrics.text)))
        }
    }

    /// Adds what only the operator may do.
    func addRestricted(to router: RouterGroup<TrackerContext>) {
        router.post("backups", use: backUp)
        router.delete("users/:id", use: erase)
    }

    struct BackupBody: ResponseEncodable {
        let file: String
        let revision: Revision
        let isClean: Bool
    }

    /// Copies the store while it is in use, and verifies the copy.
    @Sendable private func backUp(_ request: Request, _ context: TrackerContext) async throws
        -> BackupBody
    {
        let name = "tracker-\(Date().formatted(.iso8601.timeSeparator(.omitted)))-\(UUID()).stet"
        try FileManager.default.createDirectory(at: backups, withIntermediateDirectories: true)
        let report = try await store.backup(to: backups.appending(path: name).path)
        return BackupBody(file: name, revision: report.revision, isClean: report.isClean)
    }

    /// Deletes a person, and removes their name, address and comments from every commit.
    ///
    /// The commits stay, and so does who made them, as an id that leads to nobody. The file still
    /// has the bytes until `stet compact --in-place`; older backups have them for ever.
    @Sendable private func erase(_ request: Request, _ context: TrackerContext) async throws
        -> HTTPResponse.Status
    {
        let id = try context.parameters.require("id", as: ObjectID.self)
        try await store.edit("erase a person") { context in
            guard let user = try context.object(User.self, id: id) else { throw NotFound("person") }
            for comment in user.comments { comment.text = "(erased)" }
            for issue in user.assigned where issue.state == .started { issue.state = .open }
            context.delete(user)
        }
        try store.requestRedaction(of: User.self, id: id, \.name, \.email).confirm()
        try store.requestRedaction(of: Comment.self, ids: Array(comments(by: id)), \.text).confirm()
        return .noContent
    }

    /// Returns the comments that a person ever wrote, with those that were deleted since.
    private func comments(by user: ObjectID) throws -> Set<ObjectID> {
        var ids: Set<ObjectID> = []
        let filter = Commit.Filter(author: user.description, entity: "Comment")
        try store.forEachCommit(from: .earliest, where: filter) { commit in
            ids.formUnion(commit.changes(of: Comment.self).map(\.id))
            return true
        }
        return ids
    }
}
