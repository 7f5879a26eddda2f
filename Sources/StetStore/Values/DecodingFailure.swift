/// The error of invalid bytes.
///
/// The caller adds what was being read.
@usableFromInline
package struct DecodingFailure: Error, Hashable, Sendable, CustomStringConvertible {
    @usableFromInline package let description: String

    @usableFromInline
    init(tooShortBody byteCount: Int, _ propertyCount: Int) {
        description = "a record body of \(byteCount) bytes for \(propertyCount) properties"
    }

    package init(_ description: String) {
        self.description = description
    }
}
