import ArgumentParser
import FoundationEssentials
import StetStore

/// `stet subscriptions`: lists durable subscriptions, and repairs one.
struct SubscriptionsCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscriptions",
        abstract: "Lists the durable subscriptions of a store, and repairs one of them.",
        discussion: """
            Without --name, lists all subscriptions; with a name, that one and its parked \
            deliveries. A change is stored at once, and the process that owns the subscription \
            follows it before its next delivery.
            """)

    /// A change of one subscription.
    enum Change: String, EnumerableFlag {
        case pause, resume, retry, drop, remove

        static func help(for value: Change) -> ArgumentHelp? {
            switch value {
            case .pause: "Stops its deliveries until it is resumed."
            case .resume: "Resumes it after a pause or a stop."
            case .retry: "Attempts its parked deliveries once more, or only that of --parked."
            case .drop: "Drops its parked deliveries, or only that of --parked."
            case .remove: "Removes it with its parked deliveries."
            }
        }
    }

    @OptionGroup var options: StoreOptions

    @Option(help: "The name of one subscription.")
    var name: String?

    @Flag(exclusivity: .exclusive)
    var change: Change?

    @Option(help: "Moves it to this revision: the commits after it are delivered.")
    var rewind: UInt64?

    @Option(help: "The revision of one parked delivery, for --retry and --drop.")
    var parked: UInt64?

    func validate() throws {
        if change != nil || rewind != nil, name == nil {
            throw ValidationError("--name must say which subscription is to be changed.")
        }
        if change != nil, rewind != nil {
            throw ValidationError("--rewind is a change of its own.")
        }
        if parked != nil, change != .retry, change != .drop {
            throw ValidationError("--parked goes with --retry and --drop.")
        }
    }

    func perform(_ output: Output) throws -> ExitCode {
        let store = try openStore()
        if let name, let action { try change(name, action, store) }
        let all = try store.subscriptions.states().filter { name == nil || $0.name == name }
        if let name, all.isEmpty, change != .remove { throw missing(name) }
        for state in all {
            let lot = name == nil ? [] : try store.subscriptions.parkedDeliveries(of: state.name)
            try output.say(
                text: ([state.line] + lot.map(\.line)).joined(separator: "\n"),
                json: state.json(with: name == nil ? nil : lot))
        }
        return .success
    }

    private var action: SubscriptionUpdate.Action? {
        let parked = parked.map { Revision($0) }
        switch change {
        case .pause: return .pause
        case .resume: return .resume
        case .retry: return .retryParked(parked)
        case .drop: return .dropParked(parked)
        case .remove: return .remove
        case nil: return rewind.map { .rewind(to: Revision($0)) }
        }
    }

    private func change(
        _ name: String, _ action: SubscriptionUpdate.Action, _ store: StoreFile
    ) throws {
        do {
            try store.subscriptions.update(SubscriptionUpdate(name, action))
        } catch let error as SubscriptionError where error.code == .notFound {
            throw missing(name)
        }
    }

    private func missing(_ name: String) -> Failure {
        Failure(
            missing: "subscription \"\(name.visible)\"", in: options.path,
            advice: "List them without --name.")
    }
}

extension SubscriptionState {
    fileprivate var line: String {
        var line = "\(name.visible): \(status.name) at \(position), \(lag) behind"
        if isOwned { line += ", owned" }
        if parkedCount > 0 { line += ", \(parkedCount) parked" }
        if !holdsHistory { line += ", holds no history" }
        if let failure { line += "\n  \(failure.line)" }
        return line
    }

    fileprivate func json(with lot: [SubscriptionState.ParkedDelivery]?) -> JSON {
        var members: [String: JSON] = [
            "failure": failure?.json ?? .null, "holdsHistory": .bool(holdsHistory),
            "isOwned": .bool(isOwned), "lag": .integer(lag), "name": .string(name),
            "parkedCount": .integer(parkedCount), "position": .number(position.number),
            "status": .string(status.name),
        ]
        if let lot { members["parked"] = .array(lot.map(\.json)) }
        return .object(members)
    }
}

extension SubscriptionState.Status {
    fileprivate var name: String {
        switch self {
        case .active: "active"
        case .paused: "paused"
        case .stopped: "stopped"
        }
    }
}

extension SubscriptionState.Failure {
    fileprivate var line: String {
        "commit \(revision) failed \(count) times, last "
            + "\(timeText(time.timeIntervalSinceReferenceDate)): \(message.visible)"
    }

    fileprivate var json: JSON {
        .object([
            "count": .integer(count), "message": .string(message),
            "revision": .number(revision.number),
            "time": .string(timeText(time.timeIntervalSinceReferenceDate)),
        ])
    }
}

extension SubscriptionState.ParkedDelivery {
    fileprivate var line: String {
        let state = isDue ? "due" : "parked"
        let reason = failure.map { ": " + $0.line } ?? ": waits for an earlier one"
        return "  \(revision) \(state), \(objects.count) objects\(reason)"
    }

    fileprivate var json: JSON {
        .object([
            "failure": failure?.json ?? .null, "isDue": .bool(isDue),
            "objects": .array(objects.map { .string($0.description) }),
            "revision": .number(revision.number),
        ])
    }
}
