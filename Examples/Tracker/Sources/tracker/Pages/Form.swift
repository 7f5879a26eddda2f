import Foundation
import Hummingbird
import Markup
import Stet

/// The text of a form that was sent, and what is wrong with it.
struct Form {
    /// The text of each input, by its name, as the person wrote it.
    var texts: [String: String] = [:]
    /// The errors of each input, by its name; "" for the form as a whole.
    var errors: [String: [Refusal]] = [:]

    struct Refusal: ExpressibleByStringInterpolation {
        let message: HTML
        /// A control beside the input that corrects the error.
        var remedy: HTML?

        init(message: HTML, remedy: HTML? = nil) {
            self.message = message
            self.remedy = remedy
        }

        init(stringLiteral text: String) { message = "\(text)" }
    }

    subscript(name: String) -> String { texts[name] ?? "" }

    static func decode(_ request: Request, _ context: TrackerContext) async throws -> Form {
        Form(
            texts: try await URLEncodedFormDecoder().decode(
                [String: String].self, from: request, context: context))
    }

    /// Adds the violations of a refused edit to the inputs that they concern.
    ///
    /// Those of others, such as a property without an input, concern the form.
    mutating func add(_ error: ValidationError, inputs: [String]) {
        for violation in error.violations {
            let name = violation.property.flatMap { inputs.contains($0) ? $0 : nil } ?? ""
            errors[name, default: []].append("\(violation.message)")
        }
    }

    /// Everything that is wrong, with links to the inputs: the first thing that is read.
    func summary(_ sentence: String, captions: [(name: String, caption: String)]) -> HTML? {
        guard !errors.isEmpty else { return nil }
        let items = [("", "")] + captions
        let lines = items.flatMap { name, caption in
            (errors[name] ?? []).map { error -> HTML in
                let link: HTML? = name.isEmpty ? nil : "<a href=\"#\(name)\">\(caption)</a>: "
                return "<li>\(link)\(error.message)</li>"
            }
        }
        return """
            <div class="refusal" role="alert" tabindex="-1" id="refusal">
            <h2>\(sentence)</h2>
            <ul>\(lines)</ul>
            </div>
            """
    }

    // MARK: Inputs

    /// A caption, an input made with the attributes that connect it to its hints and errors, and
    /// those.
    func field(
        _ name: String, _ caption: String, hint: HTML? = nil, _ input: (HTML) -> HTML
    ) -> HTML {
        let errors = errors[name] ?? []
        var described: [String] = []
        if hint != nil { described.append("\(name)-hint") }
        if !errors.isEmpty { described.append("\(name)-error") }
        var attributes: HTML = "id=\"\(name)\" name=\"\(name)\""
        if !described.isEmpty {
            attributes = "\(attributes) aria-describedby=\"\(described.joined(separator: " "))\""
        }
        if !errors.isEmpty { attributes = "\(attributes) aria-invalid=\"true\"" }
        let lines = errors.map { "<p class=\"error\">\($0.message) \($0.remedy)</p>" as HTML }
        return """
            <div class="field">
            <label for="\(name)">\(caption)</label>
            \(input(attributes))
            \(hint.map { "<p class=\"hint\" id=\"\(name)-hint\">\($0)</p>" as HTML })
            \(lines.isEmpty ? nil : "<div id=\"\(name)-error\">\(lines)</div>" as HTML)
            </div>
            """
    }

    func text(_ name: String, _ caption: String, type: String = "text", hint: HTML? = nil) -> HTML {
        field(name, caption, hint: hint) {
            "<input \($0) type=\"\(type)\" value=\"\(self[name])\" dir=\"auto\">"
        }
    }

    func area(_ name: String, _ caption: String, rows: Int, hint: HTML? = nil) -> HTML {
        // The first line break of a text area is left out by browsers.
        field(name, caption, hint: hint) {
            "<textarea \($0) rows=\"\(rows)\" dir=\"auto\">\n\(self[name])</textarea>"
        }
    }

    func choice(
        _ name: String, _ caption: String, _ options: [(value: String, caption: String)],
        hint: HTML? = nil
    ) -> HTML {
        let options = options.map { option -> HTML in
            "<option value=\"\(option.value)\"\("selected", if: option.value == self[name])>\(option.caption)</option>"
        }
        return field(name, caption, hint: hint) { "<select \($0)>\(options)</select>" }
    }
}
