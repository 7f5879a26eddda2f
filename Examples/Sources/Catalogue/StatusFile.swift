/// The installed packages that a dpkg status file lists.
///
/// The file is a sequence of stanzas with an empty line between them. A stanza is a sequence of
/// fields, `Name: value`; a line that begins with white space continues the field above it. Every
/// input can be read: unusable parts are left out and counted.
struct StatusFile: Equatable, Sendable {
    /// The installed packages, in the order of the file.
    private(set) var packages: [InstalledPackage] = []
    /// The number of stanzas, regardless of their contents.
    private(set) var stanzaCount = 0
    /// The number of stanzas of packages that are not installed, such as removed packages whose
    /// configuration remains.
    private(set) var notInstalledCount = 0
    /// The number of stanzas without a name, a version or an architecture.
    private(set) var incompleteCount = 0
    /// The number of lines outside any field.
    private(set) var strayLineCount = 0

    /// Reads the contents of a file.
    ///
    /// Bytes that are not UTF-8, and control characters, become U+FFFD. With `listsAvailable` every
    /// package counts, installed or not, as in the index of an archive.
    ///
    /// - Complexity: O(bytes).
    init(_ bytes: some Collection<UInt8>, listsAvailable: Bool = false) {
        let text = String(decoding: bytes, as: UTF8.self).utf8
        let lineFeed = UInt8(ascii: "\n")
        let listed = "install ok installed"
        var stanza = Stanza()
        for line in text.split(separator: lineFeed, omittingEmptySubsequences: false) {
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            if line.allSatisfy(isBlank) {
                add(stanza, listsAvailable ? listed : nil)
                stanza = Stanza()
            } else if !stanza.take(line) {
                strayLineCount += 1
            }
        }
        add(stanza, listsAvailable ? listed : nil)
    }

    private mutating func add(_ stanza: Stanza, _ status: String?) {
        if stanza.isEmpty { return }
        var stanza = stanza
        if let status { stanza.setStatus(status) }
        stanzaCount += 1
        if !stanza.isComplete {
            incompleteCount += 1
        } else if let package = stanza.installedPackage {
            packages.append(package)
        } else {
            notInstalledCount += 1
        }
    }
}

/// One installed package, as its stanza describes it.
struct InstalledPackage: Equatable, Sendable {
    var name: String
    var version: String
    var architecture: String
    /// The size in KiB; nil if it is missing or not a number.
    var installedSize: Int?
    /// The first line of the description; empty if there is none.
    var summary: String
    var isEssential: Bool
    var section: String?
    var maintainer: Person?
    /// The packages that it needs; for each the names of the alternatives.
    var dependencies: [[String]] = []

    /// A name and an address, as in `Ada Lovelace <ada@example.org>`.
    struct Person: Hashable, Sendable {
        var name: String
        var email: String?
    }
}

/// The fields of a stanza that the catalogue uses.
private struct Stanza {
    private static let names: Set<String> = [
        "package", "status", "version", "architecture", "installed-size", "description",
        "essential", "section", "maintainer", "depends", "pre-depends",
    ]
    private var fields: [String: String] = [:]
    /// The field to which a continuation line belongs: nil before the first, empty if the field is
    /// not used.
    private var current: String?

    var isEmpty: Bool { current == nil }
    var isComplete: Bool {
        ["package", "version", "architecture"].allSatisfy { fields[$0] != nil }
    }

    mutating func setStatus(_ status: String) { fields["status"] = status }

    /// Reads a line that is not blank, and returns false if it is not part of a field.
    mutating func take(_ line: Substring.UTF8View) -> Bool {
        if let first = line.first, isBlank(first) { return continueField(with: line) }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex
        else { return false }
        let name = String(Substring(line[..<colon])).lowercased()
        // Of two fields with the same name, the first counts.
        guard Self.names.contains(name), fields[name] == nil else {
            current = ""
            return true
        }
        current = name
        let value = repaired(line[colon...].dropFirst())
        if !value.isEmpty { fields[name] = value }
        return true
    }

    /// Appends a line to the current field with a space; of a description only the first line is
    /// used.
    private mutating func continueField(with line: Substring.UTF8View) -> Bool {
        guard let current else { return false }
        if current.isEmpty || current == "description" { return true }
        let more = repaired(line)
        fields[current, default: ""] += fields[current] == nil ? more : " " + more
        return true
    }

    /// The package; nil if it is not installed, or lacks a required field.
    var installedPackage: InstalledPackage? {
        guard let status = fields["status"], status.hasSuffix(" ok installed"),
            let name = fields["package"], let version = fields["version"],
            let architecture = fields["architecture"]
        else { return nil }
        let size = fields["installed-size"].flatMap { Int($0) } ?? -1
        return InstalledPackage(
            name: name, version: version, architecture: architecture,
            installedSize: size < 0 ? nil : size,
            summary: fields["description"] ?? "", isEssential: fields["essential"] == "yes",
            section: fields["section"],
            maintainer: fields["maintainer"].map { InstalledPackage.Person($0) },
            dependencies: ["pre-depends", "depends"].flatMap { dependencies(fields[$0] ?? "") })
    }

    /// Returns the names in a text such as `libc6 (>= 2.34), mawk | awk:any`, without versions: a
    /// list of alternatives.
    private func dependencies(_ text: String) -> [[String]] {
        text.split(separator: ",").map { alternatives in
            alternatives.split(separator: "|").compactMap { alternative in
                alternative.split { " (:".contains($0) }.first.map(String.init)
            }
        }.filter { !$0.isEmpty }
    }
}

extension InstalledPackage.Person {
    /// Reads a name and an address in `<…>`: without an address the whole text is the name, and
    /// without a name the address is used as the name.
    init(_ text: String) {
        guard let open = text.lastIndex(of: "<"), text.hasSuffix(">") else {
            self.init(name: text, email: nil)
            return
        }
        let address = text[text.index(after: open)...].dropLast()
        let name = repaired(text[..<open].utf8)
        self.init(
            name: name.isEmpty ? String(address.isEmpty ? text[...] : address) : name,
            email: address.isEmpty ? nil : String(address))
    }
}

private func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
}

/// Returns a value without surrounding white space and without control characters that a terminal
/// would execute.
private func repaired(_ value: Substring.UTF8View) -> String {
    let start = value.firstIndex { !isBlank($0) } ?? value.endIndex
    let end = value.lastIndex { !isBlank($0) }.map { value.index(after: $0) } ?? start
    let text = String(Substring(value[start..<end]))
    let isPlain = text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    if isPlain { return text }
    var clean = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
        let isControl = scalar.properties.generalCategory == .control
        clean.append(isControl ? (scalar == "\t" ? " " : "\u{FFFD}") : scalar)
    }
    return String(clean)
}
