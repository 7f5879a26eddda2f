import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Stet

/// The state of one request.
struct TrackerContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The person who makes the request.
    var user: User.Snapshot?

    init(source: Source) { coreContext = .init(source: source) }

    /// Returns the person who makes the request, for edits, which all have an author.
    func requireUser() throws -> ObjectID {
        guard let user else {
            throw HTTPError(.unauthorized, message: "Edits need a person: send X-User, or sign in.")
        }
        return user.id
    }
}

extension HTTPField.Name {
    static let user = Self("X-User")!
    static let traceparent = Self("traceparent")!
    static let fetchSite = Self("Sec-Fetch-Site")!
    static let lastEventID = Self("Last-Event-ID")!
}

/// Finds the person who makes a request: by their address in `X-User`, which a proxy in front of the
/// service has checked, or by the cookie of the sign-in page.
///
/// A browser sends the cookie only with requests from the service's own pages, and a request that
/// another page caused is refused before it could edit anything.
struct AuthorMiddleware: RouterMiddleware {
    let store: Store

    func handle(
        _ request: Request, context: TrackerContext,
        next: (Request, TrackerContext) async throws -> Response
    ) async throws -> Response {
        // Another port of this machine is the same site, but not the same origin.
        if request.method != .get && request.method != .head,
            !["same-origin", "none"].contains(request.headers[.fetchSite] ?? "none")
        {
            throw HTTPError(.forbidden, message: "The request comes from a page of another site.")
        }
        var context = context
        if let email = request.headers[.user] {
            context.user = try store.fetch(User.self) { $0.email == email.lowercased() }.first()
            if context.user == nil {
                throw HTTPError(.unauthorized, message: "There is no person with this address.")
            }
        } else if let id = request.cookies["user"].flatMap({ ObjectID($0.value) }) {
            context.user = try store.object(User.self, id: id)
        }
        // Each commit names the request that made it, and the trace to which that belongs.
        var metadata = ["request": context.id]
        metadata["traceparent"] = request.headers[.traceparent]
        let finished = context
        return try await Commit.Defaults.$metadata.withValue(metadata) {
            try await next(request, finished)
        }
    }
}

/// Lets only the operator of the service through, who knows the token that it was started with.
struct OperatorMiddleware: RouterMiddleware {
    let token: String?

    func handle(
        _ request: Request, context: TrackerContext,
        next: (Request, TrackerContext) async throws -> Response
    ) async throws -> Response {
        guard let token, request.headers[.authorization] == "Bearer \(token)" else {
            throw HTTPError(.forbidden, message: "Only the operator of the service may do this.")
        }
        return try await next(request, context)
    }
}
