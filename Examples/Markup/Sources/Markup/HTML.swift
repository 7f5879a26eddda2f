import HTTPTypes
import Hummingbird
import NIOCore

/// A part of a page.
///
/// Text that is interpolated is escaped, parts are not, so that nothing a person writes is read as
/// markup.
public struct HTML: ExpressibleByStringInterpolation, Sendable {
    /// The markup.
    public let text: String

    /// Creates a part from markup in the source of a program.
    public init(stringLiteral text: String) { self.text = text }

    /// Creates a part from markup with interpolated text and parts.
    public init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

    /// The pieces of a part.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        /// Creates a part without pieces.
        public init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity)
        }

        /// Adds markup.
        public mutating func appendLiteral(_ literal: String) { text += literal }

        /// Adds a part.
        public mutating func appendInterpolation(_ part: HTML) { text += part.text }

        /// Adds a part, if there is one.
        public mutating func appendInterpolation(_ part: HTML?) { text += part?.text ?? "" }

        /// Adds parts, one after another.
        public mutating func appendInterpolation(_ parts: [HTML]) {
            for part in parts { text += part.text }
        }

        /// Adds text.
        ///
        /// Disfavoured, so that a literal within an interpolation is markup, as it is elsewhere.
        @_disfavoredOverload
        public mutating func appendInterpolation(_ value: some LosslessStringConvertible) {
            text.appendEscaped(value.description)
        }

        /// Adds an attribute without a value, such as `hidden`, if a condition is true.
        public mutating func appendInterpolation(_ attribute: StaticString, if condition: Bool) {
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
    /// Returns the page as an answer, which nobody keeps.
    public func response(status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status,
            headers: [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}

extension Request {
    /// The parameters of the address as a form sends them; the last one of a name counts.
    public var form: [String: String] {
        let query = uri.query ?? ""
        return (try? URLEncodedFormDecoder().decode([String: String].self, from: query)) ?? [:]
    }
}

/// Allows pages nothing but the program's own files, and no frames around them.
public struct SecurityHeaders<Context: RequestContext>: RouterMiddleware {
    /// Creates the middleware.
    public init() {}

    /// Adds the headers to an answer.
    public func handle(
        _ request: Request, context: Context,
        next: (Request, Context) async throws -> Response
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
