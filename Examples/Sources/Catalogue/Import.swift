import Stet

/// Creates objects from a status file, and saves all of them as one commit.
struct Import {
    let context: ManagedContext
    let report: Report

    private var sections: [String: Section] = [:]
    private var packages: [String: Package] = [:]
    private var maintainers: [InstalledPackage.Person: Maintainer] = [:]

    init(context: ManagedContext, report: Report) {
        self.context = context
        self.report = report
    }

    /// - Throws: `Failure` if a package breaks a rule of the models; errors of `save`.
    mutating func run(_ found: [InstalledPackage]) throws -> Commit? {
        for (index, package) in found.enumerated() {
            // Inserting a package also inserts a new section or maintainer to which it refers.
            context.insert(self.package(package))
            report.progress(index + 1, of: found.count, "importing")
        }
        for package in found {
            // Takes the first installed package of the alternatives.
            let needed = package.dependencies.compactMap { names in
                names.first { packages[$0] != nil }.flatMap { packages[$0] }
            }
            packages[package.name]?.dependencies.formUnion(needed)
        }
        do {
            return try context.save("import")
        } catch let error as ValidationError {
            throw Self.failure(error)
        }
    }

    private mutating func package(_ found: InstalledPackage) -> Package {
        let package = Package(
            name: found.name, version: found.version, architecture: found.architecture,
            summary: found.summary)
        package.installedSize = found.installedSize
        package.essential = found.isEssential
        package.section = found.section.map { section(named: $0) }
        package.maintainer = found.maintainer.map { maintainer($0) }
        // A package of another architecture does not replace it.
        if packages[found.name] == nil { packages[found.name] = package }
        return package
    }

    private mutating func section(named name: String) -> Section {
        if let known = sections[name] { return known }
        let section = Section(name: name)
        sections[name] = section
        return section
    }

    private mutating func maintainer(_ person: InstalledPackage.Person) -> Maintainer {
        if let known = maintainers[person] { return known }
        let maintainer = Maintainer(name: person.name, email: person.email)
        maintainers[person] = maintainer
        return maintainer
    }

    /// Returns the failure for a file with packages that the catalogue refuses: nothing was saved.
    private static func failure(_ error: ValidationError) -> Failure {
        let shown = error.violations.prefix(5).map { violation in
            let change = error.rejected.changes.first { $0.id == violation.object }
            let name = change?["name"].map { "\($0.new)" } ?? ""
            return "  \(violation.entity) \(name.shortened(to: 60)): \(violation.message)"
        }
        let count = error.violations.count
        let more = count > shown.count ? ["  and \(count - shown.count) more"] : []
        let title = "\(counted(count, "value")) in the file can't be taken, so nothing was saved:"
        return Failure(message: ([title] + shown + more).joined(separator: "\n"))
    }
}

extension Report {
    /// Prints what an observer can learn from a commit with many inserts.
    func observed(_ commit: Commit, _ names: Names) {
        let changes = commit.changeSet.changes
        line("An observer saw \(commit):")
        var rows = [["", "inserted", "updated", "deleted"]]
        for entity in ["Package", "Maintainer", "Section"] {
            let kinds = changes.filter { $0.entity == entity }.map(\.kind)
            rows.append(
                [entity]
                    + [ChangeKind.insert, .update, .delete].map { kind in
                        "\(kinds.count { $0 == kind })"
                    })
        }
        table(rows)
        line("The first of the packages in it:")
        table(
            commit.changes(of: Package.self).prefix(3).compactMap(\.new.snapshot).map { package in
                [
                    package.name.shortened(to: 24), package.version.shortened(to: 20),
                    package.installedSize.map { "\($0) KiB" } ?? "", names[package.section],
                    names[package.maintainer].shortened(to: 32),
                ]
            })
    }
}
