import SwiftSyntax
import SwiftSyntaxMacros

/// Finds expressions that a store cannot compute, and reports what to write instead.
///
/// The expression is compiled twice: as it is, for reading the property of an object, and in
/// `Fields`, where the names are those of query expressions. It may contain only what means the same
/// in both.
struct DerivedMisuse {
    private let property: PropertyDeclaration
    private let names: Set<String>
    private let relationships: Set<String>
    private var problems: [(misuse: Misuse, node: Syntax)] = []

    /// Reports everything that is wrong with a derived attribute.
    static func report(
        _ property: PropertyDeclaration, among properties: [PropertyDeclaration],
        _ relationships: [PropertyDeclaration], _ context: some MacroExpansionContext
    ) {
        var check = DerivedMisuse(
            property: property, names: Set(properties.map(\.name)),
            relationships: Set(relationships.map(\.name)))
        check.check()
        for (misuse, node) in check.problems { context.report(misuse, at: node) }
    }

    private init(property: PropertyDeclaration, names: Set<String>, relationships: Set<String>) {
        self.property = property
        self.names = names
        self.relationships = relationships
    }

    private mutating func note(_ text: String, _ node: some SyntaxProtocol) {
        problems.append((Misuse("derived", text), Syntax(node)))
    }

    private mutating func check() {
        let kind = WrittenType(property.type).kind
        if kind == nil || kind == .collection {
            note(
                "A derived attribute is text, data, a number, a Bool, a Date, a UUID or a URL; "
                    + "'\(property.name)' is \(property.typeName)", property.syntax.bindings)
        }
        let foreign: Set<String> = [
            "stamped", "counter", "trimmed", "lowercased", "nfc", "normalized",
        ]
        for option in property.options where foreign.contains(option.name) {
            note(
                "'.\(option.name)' changes a value; that of '\(property.name)' follows from its "
                    + "expression", option.expression)
        }
        guard let expression = property.derivingExpression else {
            return note(
                "A derived attribute has one expression: write 'var \(property.name): "
                    + "\(property.typeName) { … }'", property.syntax.bindings)
        }
        check(expression)
    }

    private static let operators: Set<String> = [
        "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "??",
    ]
    private static let functions: Set<String> = ["hasPrefix", "hasSuffix", "contains"]

    private mutating func check(_ expression: ExprSyntax) {
        if let sequence = expression.as(SequenceExprSyntax.self) {
            for element in sequence.elements { check(element) }
        } else if let infix = expression.as(InfixOperatorExprSyntax.self) {
            for part in [infix.leftOperand, infix.operator, infix.rightOperand] { check(part) }
        } else if let binary = expression.as(BinaryOperatorExprSyntax.self) {
            if Self.operators.contains(binary.operator.text) { return }
            refuse(expression)
        } else if let tuple = expression.as(TupleExprSyntax.self), tuple.elements.count == 1 {
            for element in tuple.elements { check(element.expression) }
        } else if let prefix = expression.as(PrefixOperatorExprSyntax.self) {
            let isNegative = prefix.operator.text == "-" && prefix.expression.isNumber
            if prefix.operator.text == "!" || isNegative {
                check(prefix.expression)
            } else {
                refuse(expression)
            }
        } else if let text = expression.as(StringLiteralExprSyntax.self) {
            guard text.segments.contains(where: { $0.is(ExpressionSegmentSyntax.self) }) else {
                return
            }
            note("A derived attribute can't interpolate: write 'first + \" \" + last'", expression)
        } else if !expression.isLiteral {
            checkValue(expression)
        }
    }

    /// Checks a name, a path or a call.
    private mutating func checkValue(_ expression: ExprSyntax) {
        if let name = expression.as(DeclReferenceExprSyntax.self) {
            check(name, expression)
        } else if let optional = expression.as(OptionalChainingExprSyntax.self) {
            checkValue(optional.expression)
        } else if let member = expression.as(MemberAccessExprSyntax.self), let base = member.base {
            if base.as(DeclReferenceExprSyntax.self)?.baseName.text == "self" {
                check(member.declName, expression)
            } else {
                checkValue(base)
            }
        } else if let call = expression.as(FunctionCallExprSyntax.self),
            let function = call.calledExpression.as(MemberAccessExprSyntax.self),
            Self.functions.contains(function.declName.baseName.text), let base = function.base
        {
            // The Swift code gives nil where there is no object, the store false.
            if base.hasOptionalChain {
                note(
                    "A derived attribute can't call '\(function.declName.baseName.text)' behind "
                        + "'?': write '(employer?.name ?? \"\").hasPrefix(\"A\")'", expression)
                return
            }
            check(base)
            for argument in call.arguments { check(argument.expression) }
            if call.arguments.count != 1 || call.trailingClosure != nil { refuse(expression) }
        } else {
            refuse(expression)
        }
    }

    private mutating func check(_ reference: DeclReferenceExprSyntax, _ node: ExprSyntax) {
        let name = reference.baseName.text.filter { $0 != "`" }
        if names.contains(name) { return }
        note(
            relationships.contains(name)
                ? "A derived attribute can't read the members of '\(name)': it reads attributes, "
                    + "also those of objects that references lead to"
                : "A derived attribute reads properties of the model; '\(name)' is none", node)
    }

    private mutating func refuse(_ expression: ExprSyntax) {
        note(
            "A store can't compute '\(expression.writtenText)': a derived attribute has "
                + "properties, literals, operators, hasPrefix, hasSuffix and contains", expression)
    }
}

extension ExprSyntax {
    fileprivate var isNumber: Bool {
        self.is(IntegerLiteralExprSyntax.self) || self.is(FloatLiteralExprSyntax.self)
    }

    /// Whether it is a path with `?`.
    fileprivate var hasOptionalChain: Bool {
        if self.is(OptionalChainingExprSyntax.self) { return true }
        return self.as(MemberAccessExprSyntax.self)?.base?.hasOptionalChain ?? false
    }

    fileprivate var isLiteral: Bool {
        isNumber || self.is(BooleanLiteralExprSyntax.self) || self.is(NilLiteralExprSyntax.self)
    }
}
