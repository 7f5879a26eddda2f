import HTTPTypes
import Hummingbird
import Markup

/// The frame of every page.
struct Shell {
    let title: String
    var store = ""

    func page(_ main: HTML) -> HTML {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <title>\(title) · \(name)</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <link rel="icon" href="data:,">
        <link rel="stylesheet" href="/browse.css">
        </head>
        <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
        <p class="store" dir="auto">\(name)</p>
        <nav aria-label="Pages">
        <a href="/">Entities</a> <a href="/timeline">Timeline</a> <a href="/diff">Diff</a> <a href="/undo">Undo</a>
        </nav>
        </header>
        <main id="main" tabindex="-1">
        \(main)
        </main>
        </body>
        </html>
        """
    }

    private var name: String { store.split(separator: "/").last.map(String.init) ?? "stet-browse" }
}

/// Answers with a page that says what failed.
struct Failures: RouterMiddleware {
    func handle(
        _ request: Request, context: InspectorContext,
        next: (Request, InspectorContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as Guard.Refusal {
            // Nothing about the store for those who must not see it.
            return Response(
                status: .forbidden, headers: [.contentType: "text/plain; charset=utf-8"],
                body: .init(byteBuffer: .init(string: error.message + "\n")))
        } catch let error as Tool.Failure {
            return page(error.message, error.advice, .init(code: error.status))
        } catch let error as HTTPError {
            return page(error.body ?? error.status.reasonPhrase, nil, error.status)
        }
    }

    private func page(_ message: String, _ advice: String?, _ status: HTTPResponse.Status)
        -> Response
    {
        Shell(title: "Not shown").page(
            """
            <h1>Not shown</h1>
            <p class="problem" role="alert">\(message)</p>
            \(advice.map { "<p>\($0)</p>" as HTML })
            """
        ).response(status: status)
    }
}

/// Returns an address with parameters, without those that are empty.
func address(_ path: String, _ parameters: KeyValuePairs<String, String>) -> String {
    let pairs = parameters.filter { !$0.value.isEmpty }.map {
        "\($0.key)=\($0.value.addingPercentEncoding())"
    }
    return pairs.isEmpty ? path : "\(path)?\(pairs.joined(separator: "&"))"
}

extension String {
    /// The text as a part of an address.
    fileprivate func addingPercentEncoding() -> String {
        utf8.map { byte in
            let isPlain =
                byte < 128
                && (Character(UnicodeScalar(byte)).isLetter
                    || Character(UnicodeScalar(byte)).isNumber || "-._~".utf8.contains(byte))
            let digits = String(byte, radix: 16, uppercase: true)
            return isPlain
                ? String(UnicodeScalar(byte)) : "%" + (digits.count == 1 ? "0" : "") + digits
        }.joined()
    }
}
