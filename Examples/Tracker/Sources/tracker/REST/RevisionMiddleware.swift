import HTTPTypes
import Hummingbird
import Stet

/// Lets a client read its own writes on whichever machine answers: a response names the revision
/// that the machine had, and a request that names one is answered when the machine has it.
///
/// A store that is a node of a shared journal may be behind; one on a single machine never is.
struct RevisionMiddleware: RouterMiddleware {
    private static let longestWait = Duration.seconds(2)

    let store: Store

    func handle(
        _ request: Request, context: TrackerContext,
        next: (Request, TrackerContext) async throws -> Response
    ) async throws -> Response {
        if let text = request.headers[.revision] {
            guard let number = UInt64(text) else {
                throw HTTPError(.badRequest, message: "This is not a revision: \(text)")
            }
            do {
                try await store.refresh(atLeast: Revision(number), within: Self.longestWait)
            } catch let error as StoreError where error.code == .noSuchRevision {
                throw HTTPError(
                    .serviceUnavailable, message: "This machine does not have that revision yet.")
            }
        }
        var response = try await next(request, context)
        response.headers[.revision] = "\(try store.revision().number)"
        return response
    }
}

extension HTTPField.Name {
    static let revision = Self("Stet-Revision")!
}
