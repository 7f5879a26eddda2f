import HTTPTypes
import Hummingbird
import NIOCore
import Stet

/// A part of a page. Text that is interpolated is escaped, parts are not, so that nothing a person
/// writes is read as markup.
struct HTML: ExpressibleByStringInterpolation {
    let text: String

    init(stringLiteral text: String) { self.text = text }
    init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity)
        }

        mutating func appendLiteral(_ literal: String) { text += literal }
        mutating func appendInterpolation(_ part: HTML) { text += part.text }
        mutating func appendInterpolation(_ part: HTML?) { text += part?.text ?? "" }
        mutating func appendInterpolation(_ parts: [HTML]) { parts.forEach { text += $0.text } }
        mutating func appendInterpolation(_ value: some LosslessStringConvertible) {
            text.appendEscaped(value.description)
        }
        mutating func appendInterpolation(_ revision: Revision) { text += revision.description }
        /// An attribute without a value, such as `hidden`, if the condition is true.
        mutating func appendInterpolation(_ attribute: StaticString, if condition: Bool) {
            if condition { text += " \(attribute)" }
        }
    }
}

extension String {
    fileprivate mutating func appendEscaped(_ other: String) {
        for character in other.unicodeScalars {
            switch character {
            case "&": self += "&amp;"
            case "<": self += "&lt;"
            case ">": self += "&gt;"
            case "\"": self += "&quot;"
            case "'": self += "&#39;"
            default: unicodeScalars.append(character)
            }
        }
    }
}

extension HTML {
    func response(status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status,
            headers: [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}

/// Allows pages nothing but the service's own files, and no frames around them.
struct SecurityHeaders: RouterMiddleware {
    func handle(
        _ request: Request, context: TrackerContext,
        next: (Request, TrackerContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        response.headers[.contentSecurityPolicy] =
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
            + " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[HTTPField.Name("Referrer-Policy")!] = "same-origin"
        return response
    }
}
