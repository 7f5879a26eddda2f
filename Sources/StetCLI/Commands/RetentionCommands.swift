import ArgumentParser
import StetStore

/// The options of commands that remove history or keys.
struct ConfirmationOptions: ParsableArguments {
    @Flag(help: "Does it; without this flag, only the plan is shown.")
    var yes = false
}

/// `stet trim`: removes the oldest commits.
struct TrimCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "trim",
        abstract: "Removes the commits before a revision from the journal.",
        discussion: """
            Shows what would be lost: commits, their bytes, and undo steps by author. With --yes \
            the commits are removed, a few at a time, while others may save. The objects stay as \
            they are, and verify still proves them. The file does not shrink; compact makes a \
            smaller copy.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var journal: JournalOptions
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var progress: ProgressOptions

    @Option(help: "The first revision that stays.")
    var before: UInt64

    func validate() throws {
        if before == 0 { throw ValidationError("--before must be a revision, 1 or more.") }
    }

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore(of: journal.open(for: options.path))
        let plan = try store.read { try TrimPlan(through: Revision(before - 1), $0) }
        let verb = confirmation.yes ? "removed" : "would be removed"
        try output.say(
            text: ([
                "\(plan.commitCount) commits (\(byteCountText(plan.byteCount))) \(verb); "
                    + "the journal begins after \(plan.floor)"
            ] + plan.lostSteps.map(\.line) + plan.heldBy.map { "  held by \($0.visible)" })
            .joined(separator: "\n"),
            json: .object([
                "byteCount": .integer(plan.byteCount), "commitCount": .integer(plan.commitCount),
                "floor": .number(plan.floor.number),
                "heldBy": .array(plan.heldBy.map { .string($0) }),
                "isDone": .bool(confirmation.yes),
                "lostSteps": .array(plan.lostSteps.map(\.json)),
            ]))
        if confirmation.yes {
            let meter = progress.meter(output) { "removed \($0) of \($1) commits" }
            defer { meter.end() }
            try StoreNode(store).trim(through: plan.floor) { floor in
                let left = Int(plan.floor.number - floor.number)
                meter.report(plan.commitCount - left, of: plan.commitCount)
                return true
            }
            meter.report(plan.commitCount, of: plan.commitCount)
        }
        return .success
    }
}

extension TrimPlan.LostSteps {
    fileprivate var line: String {
        "  \(undoCount) undo and \(redoCount) redo steps of \(author.visible)"
            + (scope.map { " in \($0.visible)" } ?? "")
    }

    fileprivate var json: JSON {
        .object([
            "author": .string(author), "redoCount": .integer(redoCount), "scope": JSON(scope),
            "undoCount": .integer(undoCount),
        ])
    }
}

/// `stet redact`: redacts values of an object in the journal.
struct RedactCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "redact",
        abstract: "Removes former values of an object's attributes from the journal.",
        discussion: """
            Shows how many values of which commits would be removed, old and new ones. With --yes \
            they are removed, and the commits can no longer be undone. The present values stay: \
            change them first, or delete the object. Drafts of unsaved changes lose the values, \
            too. The bytes stay in free parts of the file until compact makes a copy without them, \
            and in earlier backups.
            """)

    @OptionGroup var options: StoreOptions
    @OptionGroup var journal: JournalOptions
    @OptionGroup var confirmation: ConfirmationOptions

    @Argument(help: "The id of the object.")
    var object: String

    @Argument(help: "The names of the attributes.")
    var properties: [String]

    func perform(_ output: Output) throws -> ExitCode {
        guard let id = ObjectID(object) else {
            throw ValidationError("\(object) is no id of an object.")
        }
        let store = try openStore(of: journal.open(for: options.path))
        let request = try request(id, store)
        let plan =
            confirmation.yes
            ? try StoreNode(store).redact([request]) : try store.redactionPlan(request)
        let verb = confirmation.yes ? "redacted" : "would be redacted"
        let commits = plan.revisions.map(\.description).joined(separator: ", ")
        try output.say(
            text: "\(plan.valueCount) values \(verb)"
                + (plan.revisions.isEmpty ? "" : " in commits \(commits)"),
            json: .object([
                "isDone": .bool(confirmation.yes),
                "revisions": .array(plan.revisions.map { .number($0.number) }),
                "valueCount": .integer(plan.valueCount),
            ]))
        return .success
    }

    private func request(_ id: ObjectID, _ store: StoreFile) throws -> RedactionRequest {
        guard let number = try store.read({ try $0.entity(of: id) }) else {
            throw Failure(
                missing: "object \(id)", in: options.path, advice: "See dump for those it has.")
        }
        let entity = store.schema.entities[number]
        let slots = try properties.map { name in
            guard let slot = entity.slot(of: name), entity.properties[slot].type != .reference
            else {
                throw Failure(
                    missing: "attribute \(name) of \(entity.name)", in: options.path,
                    advice: "See info for those it has.")
            }
            return slot
        }
        return RedactionRequest(entity: number, object: id, slots: slots)
    }
}
