import Stet

/// Edits that are saved: changed values, a deleted section, a new package.
struct GoodEdits {
    let context: ManagedContext
    let report: Report

    /// Makes each edit, and returns the commits.
    ///
    /// - Throws: Errors of `edit`.
    func run() throws -> [Commit] {
        let commits = [try upgrade(), try dissolveSmallestSection(), try addPackage()]
        let unchanged = try saveNothing()
        report.check("an edit that is taken back makes no commit", unchanged == nil)
        return commits.compactMap(\.self)
    }

    private func upgrade() throws -> Commit? {
        let packages = try context.fetch(Package.self).all()
        let other = try context.fetch(Section.self).all().last { $0 !== packages[0].section }
        return try context.edit("upgrade") {
            for package in packages.prefix(2) {
                package.version += "+stet1"
                package.installedSize = (package.installedSize ?? 0) + 100
            }
            // The save trims the white space.
            packages[0].summary = "  Moved to another section \n"
            packages[0].section = other ?? Section(name: "other")
        }
    }

    /// Deletes the smallest section; the same commit sets the section of its packages to nil.
    private func dissolveSmallestSection() throws -> Commit? {
        var sizes: [ObjectID: Int] = [:]
        for package in try context.fetch(Package.self).all() {
            if let section = package.section { sizes[section.id, default: 0] += 1 }
        }
        let smallest = try context.fetch(Section.self).all()
            .min { sizes[$0.id, default: 0] < sizes[$1.id, default: 0] }
        guard let smallest else { return nil }
        return try context.edit("dissolve section") { context.delete(smallest) }
    }

    private func addPackage() throws -> Commit? {
        let package = Package(
            name: "stet-catalogue", version: "1.0", architecture: "all",
            summary: "Catalogue of installed packages")
        package.maintainer = Maintainer(name: "Ada Lovelace", email: "ada@example.org")
        package.section = try context.fetch(Section.self).all().first { $0.name == "utils" }
        return try context.edit("add package") { context.insert(package) }
    }

    private func saveNothing() throws -> Commit? {
        let package = try context.fetch(Package.self).all()[0]
        return try context.edit("nothing") {
            let version = package.version
            package.version = "0"
            package.version = version
        }
    }
}

extension Report {
    /// Prints the changes of packages, old → new, from the events of a commit.
    func changes(in commit: Commit, _ names: Names) {
        line("\(commit)")
        var rows: [[String]] = []
        let changes = commit.changes(of: Package.self)
        for change in changes.prefix(6) {
            let lines = Self.lines(of: change, names)
            for (index, line) in lines.enumerated() {
                rows.append([index == 0 ? names[change.id].shortened(to: 24) : "", line.0, line.1])
            }
        }
        table(rows)
        if changes.count > 6 { line("  and \(changes.count - 6) more") }
    }

    private static func lines(
        of change: Change<Package>, _ names: Names
    ) -> [(property: String, change: String)] {
        if let package = change.new.snapshot ?? change.old.snapshot {
            let facts =
                "\(package.version), section \(names[package.section]), "
                + "maintainer \(names[package.maintainer])"
            return [("\(change.kind)", facts)]
        }
        var lines: [(String, String)] = []
        if let old = change.old[\.version], let new = change.new[\.version] {
            lines.append(("version", "\(old) → \(new)"))
        }
        // Doubly optional: the outer nil means no change, the inner nil is a value.
        if let old = change.old[\.installedSize], let new = change.new[\.installedSize] {
            lines.append(("size", "\(size(old)) → \(size(new))"))
        }
        if let old = change.old[\.summary], let new = change.new[\.summary] {
            lines.append(("summary", "\(old.shortened(to: 30)) → \(new.shortened(to: 30))"))
        }
        if let old = change.old[\.section], let new = change.new[\.section] {
            lines.append(("section", "\(names[old]) → \(names[new])"))
        }
        return lines
    }

    private static func size(_ size: Int?) -> String { size.map { "\($0) KiB" } ?? "unknown" }
}
