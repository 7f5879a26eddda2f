import SwiftCompilerPlugin
import SwiftSyntaxMacros

/// The compiler plug-in with the macros of Stet.
@main
struct StetMacrosPlugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
        ModelMacro.self, StoredMacro.self, MembersMacro.self, RelationshipMacro.self,
        AttributeMacro.self, TransientMacro.self, DerivedMacro.self, IndexMacro.self,
        EmbeddedMacro.self, ModelProtocolMacro.self,
    ]
}
