import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// A part of the source that cannot be part of a model: the problem, and what to write instead.
struct Misuse: DiagnosticMessage {
    let message: String
    let name: String
    var severity = DiagnosticSeverity.error

    var diagnosticID: MessageID { MessageID(domain: "Stet", id: name) }

    init(_ name: String, _ message: String, severity: DiagnosticSeverity = .error) {
        self.name = name
        self.message = message
        self.severity = severity
    }
}

extension MacroExpansionContext {
    func report(_ misuse: Misuse, at node: some SyntaxProtocol) {
        diagnose(Diagnostic(node: Syntax(node), message: misuse))
    }
}
