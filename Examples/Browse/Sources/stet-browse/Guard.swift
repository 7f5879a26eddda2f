import HTTPTypes
import Hummingbird
import NIOCore

/// The state of one request.
struct InspectorContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// The port at which the request arrived.
    let port: Int

    init(source: Source) {
        coreContext = .init(source: source)
        port = source.channel.localAddress?.port ?? 0
    }
}

/// Lets nobody in but the person who started the inspector.
///
/// The token of its first address, which is random, becomes a cookie that no script can read and no
/// other site's page can send. A request that names another host comes from a page that has bound a
/// name of its own to this machine, and is refused, as is any request that another site has caused.
struct Guard: RouterMiddleware {
    let token: String

    func handle(
        _ request: Request, context: InspectorContext,
        next: (Request, InspectorContext) async throws -> Response
    ) async throws -> Response {
        let port = context.port
        // Cookies do not tell ports apart.
        let cookie = "stet-browse-\(port)"
        guard let host = request.head.authority,
            ["127.0.0.1:\(port)", "localhost:\(port)"].contains(host)
        else { throw Refusal("The inspector answers at http://127.0.0.1:\(port) only.") }
        if request.method == .get, let given = request.uri.queryParameters["token"] {
            guard isToken(String(given)) else {
                throw Refusal("The token of this address is not valid.")
            }
            var response = Response(status: .seeOther, headers: [.location: "/"])
            response.setCookie(
                Cookie(name: cookie, value: token, path: "/", httpOnly: true, sameSite: .strict))
            return response
        }
        // Browsers say where a request comes from; what is no browser says nothing.
        if let site = request.headers[HTTPField.Name("Sec-Fetch-Site")!],
            site != "same-origin", site != "none"
        {
            throw Refusal("The request comes from a page of another site.")
        }
        if let origin = request.headers[.origin], origin != "http://\(host)" {
            throw Refusal("The request comes from a page of another site.")
        }
        guard let given = request.cookies[cookie]?.value, isToken(given) else {
            throw Refusal("Open the address that stet-browse has printed.")
        }
        return try await next(request, context)
    }

    /// Compares in a time that does not depend on where the texts differ.
    private func isToken(_ given: String) -> Bool {
        given.utf8.count == token.utf8.count
            && zip(given.utf8, token.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    struct Refusal: Error {
        let message: String
        init(_ message: String) { self.message = message }
    }
}
