import ArgumentParser
import FoundationEssentials
import StetStore

/// The options of `undo`, `redo` and `revert`.
struct UndoOptions: ParsableArguments {
    @Option(help: "The treatment of conflicts: fail, skip or overwrite.")
    var policy = PolicyName.fail

    @Flag(help: "Shows what it would do, and does nothing.")
    var dryRun = false

    @Flag(help: "Writes although the validators in code, which the tool lacks, cannot run.")
    var withoutValidators = false

    @OptionGroup var journal: JournalOptions

    enum PolicyName: String, ExpressibleByArgument, CaseIterable {
        case fail, skip, overwrite

        var policy: UndoPolicy {
            switch self {
            case .fail: .fail
            case .skip: .skip
            case .overwrite: .overwrite
            }
        }
    }
}

/// The owner of the stack.
struct StackOptions: ParsableArguments {
    @Option(help: "The author of the commits.")
    var author: String
    @Option(help: "The scope of the author's undo stack.")
    var scope: String?

    var owner: UndoOwner { UndoOwner(author: author, scope: scope) }
}

/// `stet undo`: undoes the last step of an author.
struct UndoCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo", abstract: "Undoes the last commit of an author, or its group.")

    @OptionGroup var options: StoreOptions
    @OptionGroup var undo: UndoOptions
    @OptionGroup var stack: StackOptions

    func perform(_ output: Output) throws -> ExitCode {
        try perform(.undo(stack.owner), undo, nil, output)
    }
}

/// `stet redo`: redoes the last undone step of an author.
struct RedoCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "redo", abstract: "Redoes the last undone commit of an author, or its group.")

    @OptionGroup var options: StoreOptions
    @OptionGroup var undo: UndoOptions
    @OptionGroup var stack: StackOptions

    func perform(_ output: Output) throws -> ExitCode {
        try perform(.redo(stack.owner), undo, nil, output)
    }
}

/// `stet revert`: reverts any commit.
struct RevertCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "revert", abstract: "Reverts a commit, whoever made it.")

    @OptionGroup var options: StoreOptions
    @OptionGroup var undo: UndoOptions
    @Argument(help: "The revision of the commit.")
    var revision: UInt64
    @Option(help: "The author of the revert, who can undo it.")
    var author: String?

    func perform(_ output: Output) throws -> ExitCode {
        try perform(.revert(Revision(revision)), undo, author, output)
    }
}

extension StoreCommand {
    /// - Throws: `Failure` unless an option says that validators in code do not run.
    func checkValidators(areLeftOut: Bool) throws {
        if areLeftOut { return }
        throw Failure(
            .usage, code: "validatorsUnknown", path: options.path,
            message: "The models of the store may have validators in code, which the tool "
                + "cannot ask.",
            advice: "Do it with the program that has them, or add --without-validators, which "
                + "the commit will say.")
    }

    fileprivate func perform(
        _ request: UndoRequest, _ undo: UndoOptions, _ author: String?, _ output: Output
    ) throws -> ExitCode {
        let store = try openStore(of: undo.journal.open(for: options.path))
        if undo.dryRun { return try preview(request, undo, store, output) }
        try checkValidators(areLeftOut: undo.withoutValidators)
        var work = UndoWork(
            store, request, undo.policy.policy,
            time: { Date().timeIntervalSinceReferenceDate },
            violations: { net, _ in try store.violationsOfSchema(&net) })
        work.author = author
        work.metadata = [Commit.withoutValidatorsKey: "true"]
        do {
            guard let commit = try store.commit(&work), commit.changeCount > 0 else {
                try output.say(text: request.emptyText, json: .null)
                return .success
            }
            var members = commit.members
            members["changes"] = .array(commit.changeSet.changes.map(\.json))
            try output.say(text: commit.line, json: .object(members))
            return .success
        } catch let refusal as UndoWork.Refusal {
            return try report(refusal, output)
        }
    }

    private func preview(
        _ request: UndoRequest, _ undo: UndoOptions, _ store: StoreFile, _ output: Output
    ) throws -> ExitCode {
        var net = ChangeSetBuilder(schema: store.schema)
        let prepared = try store.read { reader in
            try UndoPreparation(reader).prepare(request, undo.policy.policy, into: &net)
        }
        guard let prepared else {
            try output.say(text: request.emptyText, json: .null)
            return .success
        }
        if !prepared.inverse.conflicts.isEmpty {
            return try report(prepared.inverse.conflicts, output)
        }
        let (commits, label) = (prepared.inverse.subjects, prepared.inverse.label)
        let name = label.map { " \"\($0.visible)\"" } ?? ""
        let changes = try net.changeSet().changes
        try output.say(
            text: (["\(request.preview(of: commits))\(name)"] + changes.flatMap { $0.lines(.none) })
                .joined(separator: "\n"),
            json: .object([
                "changes": .array(changes.map(\.json)),
                "commits": .array(commits.map { .number($0.number) }), "label": JSON(label),
            ]))
        return .success
    }

    private func report(_ refusal: UndoWork.Refusal, _ output: Output) throws -> ExitCode {
        switch refusal {
        case .conflicts(let conflicts, _): return try report(conflicts, output)
        case .violations(let violations, _):
            for violation in violations {
                try output.say(
                    text: "\(violation.entity.visible): \(violation.message.visible)",
                    json: .object(["violation": .string(violation.message)]))
            }
            return .problemsFound
        case .contention:
            throw Failure(
                .inputOutputError, code: "contention", path: options.path,
                message: "The store kept moving.", advice: "Try again.")
        }
    }

    private func report(_ conflicts: [UndoConflict], _ output: Output) throws -> ExitCode {
        for conflict in conflicts {
            try output.say(
                text: conflict.debugDescription.visible,
                json: .object([
                    "conflict": .string(conflict.kind.rawValue),
                    "entity": .string(conflict.entity),
                    "id": .string(conflict.object.description),
                    "message": .string(conflict.debugDescription),
                    "property": JSON(conflict.property),
                ]))
        }
        return .problemsFound
    }
}

extension UndoRequest {
    /// Returns the beginning of a preview.
    fileprivate func preview(of commits: [Revision]) -> String {
        let numbers = commits.map(\.description).joined(separator: ", ")
        return switch self {
        case .undo: "would undo \(numbers)"
        case .redo: "would redo what \(numbers) has undone"
        case .revert: "would revert \(numbers)"
        }
    }

    /// The output when the request finds no commit.
    fileprivate var emptyText: String {
        if case .redo = self { "nothing to redo" } else { "nothing to undo" }
    }
}
