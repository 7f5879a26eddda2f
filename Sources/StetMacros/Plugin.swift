import SwiftCompilerPlugin
import SwiftSyntaxMacros

/// The macros of Stet, as the compiler finds them.
@main
struct StetMacrosPlugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
        ModelMacro.self, StoredMacro.self, MembersMacro.self, RelationshipMacro.self,
        AttributeMacro.self, TransientMacro.self,
        IndexMacro.self,
    ]
}
