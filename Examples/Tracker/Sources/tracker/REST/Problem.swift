import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Stet

/// An error as `application/problem+json` (RFC 9457): the form that Stet gives its own errors, and
/// the conflicts of an edit that came too late.
struct Problem: Encodable {
    var status: Int
    var title: String
    var code: String
    var detail: String
    var errors: [ProblemDetails.Problem] = []
    /// The present revision of the object that was to be edited.
    var revision: Revision?
    /// The three values of each field that the edit or others have changed.
    var conflicts: [StaleEdit.Conflict]?

    init(_ error: any Error) {
        switch error {
        case let error as any StetError:
            let problem = error.problem
            self.init(problem.status, problem.title, problem.code, problem.detail)
            errors = problem.errors
        case let error as StaleEdit:
            self.init(
                412, "Others have changed the issue.", "stale",
                "The issue has been changed since revision \(error.base). Merge, and send the edit"
                    + " again with revision \(error.current).")
            revision = error.current
            conflicts = error.conflicts
        case let error as NotFound:
            self.init(404, "There is no such \(error.what).", "notFound")
        case is DecodingError:
            self.init(400, "The body of the request cannot be read.", "unreadable")
        case let error as HTTPError:
            self.init(error.status.code, error.body ?? error.status.reasonPhrase, "http")
        default:
            self.init(500, "Something went wrong.", "internal")
        }
    }

    private init(_ status: Int, _ title: String, _ code: String, _ detail: String? = nil) {
        self.status = status
        self.title = title
        self.code = code
        self.detail = detail ?? title
    }

    func response() throws -> Response {
        var headers: HTTPFields = [.contentType: "application/problem+json"]
        headers[.eTag] = revision.map(entityTag)
        let body = ByteBuffer(data: try JSONEncoder().encode(self))
        return Response(
            status: .init(code: status), headers: headers, body: .init(byteBuffer: body))
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
            if problem.status >= 500 {
                context.logger.error("\(error)", metadata: ["code": "\(problem.code)"])
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
