import Stet

/// An edit that breaks several rules at once.
///
/// It is refused as a whole, and leaves everything as it was.
struct RefusedEdit {
    let context: ManagedContext
    let report: Report
    let names: Names
    private let packages: [Package]
    /// The package that gets invalid values and another section.
    private let subject: Package
    /// The package that is deleted: one that must not be, if there is one.
    private let victim: Package?
    /// The package with an earlier change, which is not part of the edit.
    private let noted: Package
    private let otherSection: Section
    private let isNeeded: Bool

    /// - Precondition: there is a package.
    init(context: ManagedContext, report: Report, names: Names) throws {
        self.context = context
        self.report = report
        self.names = names
        packages = try context.fetch(Package.self).all()
        let subject = packages[0]
        self.subject = subject
        victim = packages.first { $0.essential && $0 !== subject } ?? packages.dropFirst().first
        noted = packages[packages.count - 1]
        isNeeded = victim.map { !$0.dependents.isEmpty } ?? false
        let others = try context.fetch(Section.self).all().filter { $0 !== subject.section }
        otherSection = others.first ?? Section(name: "other")
    }

    /// Everything that is visible in the context and the store.
    private struct State: Equatable {
        let packages: [Package.Snapshot]
        let deleted: [Bool]
        let pending: ChangeSet
        let hasChanges: Bool
        let revision: Revision
    }

    private func state() throws -> State {
        let fetched = try context.fetch(Package.self).all()
        return State(
            packages: fetched.map(\.snapshot), deleted: packages.map(\.isDeleted),
            pending: context.changes, hasChanges: context.hasChanges,
            revision: try context.store.revision())
    }

    /// Makes one change before the edit, which must stay pending.
    func run() throws {
        noted.summary = "Kept for the demonstration"
        report.line("Pending before the edit: the summary of \(noted.name).")
        let before = try state()
        // Retained: a context keeps an object's identity only while the object is alive.
        let section = subject.section
        let added = Package(name: "made-up", version: " ", architecture: "all")
        report.line("The edit gives \(subject.name) a blank name, a size below 0, another section,")
        report.line("deletes \(victim?.name ?? "nothing") and inserts a package without a version.")
        do {
            try context.edit("impossible") {
                subject.name = "   "
                subject.installedSize = -1
                subject.section = otherSection
                if let victim { context.delete(victim) }
                context.insert(added)
            }
            report.check("the edit is refused", false)
        } catch let error as ValidationError {
            show(error, added)
        }
        try check(before, section, added)
    }

    private func show(_ error: ValidationError, _ added: Package) {
        report.line("It was refused, with everything that is wrong:")
        for violation in error.violations {
            let change = error.rejected.changes.first { $0.id == violation.object }
            let isNew = change?.kind == .insert
            let name = isNew ? added.name : violation.object.map { names[$0] } ?? ""
            let verb = change.map { "\($0.kind)" } ?? "edit"
            report.line("  - \(verb) \(violation.entity) \(name): \(violation.message).")
        }
        // For a package that others depend on, only the delete rule is checked.
        let deletion: [Violation.Code] =
            isNeeded ? [.deleteDenied] : victim?.essential ?? false ? [.custom] : []
        report.check(
            "each broken rule is named once",
            error.violations.count == deletion.count + 3
                && Set(error.violations.map(\.code)) == Set(deletion + [.tooShort, .tooSmall]))
    }

    private func check(_ before: State, _ section: Section?, _ added: Package) throws {
        let after = try state()
        let size = subject.installedSize.map { "\($0) KiB" } ?? "no size"
        report.check(
            "\(subject.name) has its name and \(size) again, and no values to put back by hand",
            after.packages == before.packages && subject.name == names[subject.id])
        report.check(
            "its section is the same object as before: \(section?.name ?? "none")",
            subject.section === section)
        if let victim {
            report.check(
                "\(victim.name) is there again",
                !victim.isDeleted && after.deleted == before.deleted
                    && after.packages.contains { $0.id == victim.id })
        }
        report.check(
            "the new package belongs to no context", added.context == nil && !added.isInserted)
        report.check(
            "pending is what was pending: the summary of \(noted.name), and nothing else",
            after.pending == before.pending && after.hasChanges && after.pending.changes.count == 1)
        report.check("nothing was written", after.revision == before.revision)
        report.check("all else is as it was", after == before)
    }
}
