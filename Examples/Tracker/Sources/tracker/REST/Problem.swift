import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Stet

/// An error as `application/problem+json` (RFC 9457): the form that Stet gives its own errors, and
/// the conflicts of an edit that came too late.
struct Problem: Encodable {
    let details: ProblemDetails
    /// The present revision of the object that was to be edited.
    private var revision: Revision?
    /// The three values of each field that the edit or others have changed.
    private var conflicts: [StaleEdit.Conflict]?

    init(_ error: any Error) {
        switch error {
        case let error as any StetError: details = error.problem
        case let error as StaleEdit:
            details = ProblemDetails(
                status: 412, title: "Others have changed the issue.", code: "stale",
                detail: "The issue has been changed since revision \(error.base). Merge, and send "
                    + "the edit again with revision \(error.current).")
            revision = error.current
            conflicts = error.conflicts
        case let error as NotFound:
            details = ProblemDetails(
                status: 404, title: "There is no such \(error.what).", code: "notFound")
        case is DecodingError:
            details = ProblemDetails(
                status: 400, title: "The body of the request cannot be read.", code: "unreadable")
        case let error as HTTPError:
            details = ProblemDetails(
                status: error.status.code, title: error.body ?? error.status.reasonPhrase,
                code: "http")
        default:
            details = ProblemDetails(status: 500, title: "Something went wrong.", code: "internal")
        }
    }

    private enum CodingKeys: String, CodingKey { case revision, conflicts }

    /// Encodes the service's own members beside those of the problem.
    func encode(to encoder: any Encoder) throws {
        try details.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(revision, forKey: .revision)
        try container.encodeIfPresent(conflicts, forKey: .conflicts)
    }

    func response() throws -> Response {
        var headers: HTTPFields = [.contentType: "application/problem+json"]
        headers[.eTag] = revision.map(entityTag)
        let body = ByteBuffer(data: try JSONEncoder().encode(self))
        return Response(
            status: .init(code: details.status), headers: headers, body: .init(byteBuffer: body))
    }
}

/// Answers with a problem, as a page for people and as JSON for other clients.
///
/// The log gets the whole error of a failure that is the service's own.
struct ProblemMiddleware: RouterMiddleware {
    func handle(
        _ request: Request, context: TrackerContext,
        next: (Request, TrackerContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let problem = Problem(error)
            if problem.details.status >= 500 {
                context.logger.error("\(error)", metadata: ["code": "\(problem.details.code)"])
            }
            let wantsPage = request.headers[.accept]?.contains("text/html") ?? false
            return wantsPage ? problem.page() : try problem.response()
        }
    }
}

// A revision as an entity tag: an issue has the tag of the state from which it was read.

func entityTag(_ revision: Revision) -> String { "\"\(revision)\"" }

/// Returns the revision of an entity tag; nil if there is none, and for `*`.
func revision(ofTag tag: String?) throws -> Revision? {
    guard let tag, tag != "*" else { return nil }
    let number = tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...]
    guard let number = UInt64(number.trimmingPrefix("\"").prefix(while: { $0 != "\"" })) else {
        throw HTTPError(.badRequest, message: "This is not an entity tag of the service: \(tag)")
    }
    return Revision(number)
}
