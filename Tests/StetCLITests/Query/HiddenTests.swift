import StetStore
import StetTestSupport
import Testing

/// Hidden values, which the tool prints only if it is asked.
@Suite struct HiddenTests {
    private let fixture: Fixture

    init() throws {
        let account = Entity(
            name: "Account",
            properties: [
                Property(name: "name", type: .string),
                Property(name: "secret", type: .string, isHidden: true),
            ])
        fixture = try Fixture(schema: try Schema(entities: [account]))
        try fixture.commit([(1, .fixed(1), [.string("ann"), .string("hunter1")])])
        try fixture.commit([(1, .fixed(1), [.string("ann"), .string("hunter2")])])
    }

    private static let commands = [
        ["dump"], ["show", ObjectID.fixed(1).description], ["show", "2"], ["query", "Account"],
        ["query", "Account", "--format", "csv"], ["diff", "1", "2"],
        ["blame", ObjectID.fixed(1).description],
    ]

    private func output(_ command: [String], _ options: [String]) throws -> String {
        let arguments = [command[0], fixture.path] + command.dropFirst() + options
        let outcome = try Tool.Running(arguments).outcome()
        #expect(outcome.status == 0, "\(arguments): \(outcome)")
        return outcome.output
    }

    @Test("Service 5 no command prints a hidden value, as text or as JSON", arguments: commands)
    func nothingIsPrinted(command: [String]) throws {
        for options in [[], ["--json"]] {
            let text = try output(command, options)
            #expect(!text.contains("hunter"), "\(text)")
            #expect(text.contains("hidden"), "\(text)")
        }
    }

    @Test("Service 5 --hidden prints hidden values", arguments: commands)
    func itIsPrinted(command: [String]) throws {
        #expect(try output(command, ["--hidden"]).contains("hunter2"))
        #expect(try output(command, ["--hidden", "--json"]).contains("hunter2"))
    }

    @Test("Service 5 an export is complete, so that an import gives the same store")
    func exportIsComplete() throws {
        #expect(try output(["export"], []).contains("hunter2"))
    }

    @Test(
        "Service 5 a value derived from a hidden one is shown, unless it is hidden itself",
        arguments: [false, true])
    func derivedValues(isHidden: Bool) throws {
        let account = Entity(
            name: "Account",
            properties: [
                Property(name: "name", type: .string),
                Property(name: "secret", type: .string, isHidden: true),
                Property(name: "copy", type: .string, isHidden: isHidden)
                    .derived(by: .property(.root, slot: 1)),
            ])
        let fixture = try Fixture(schema: try Schema(entities: [account]))
        for secret in ["hunter1", "hunter2"] {
            try fixture.commit([(1, .fixed(1), ["ann", secret, secret].map { .string($0) })])
        }
        for command in Self.commands {
            let arguments = [command[0], fixture.path] + command.dropFirst()
            let text = try Tool.Running(arguments).outcome().output
            #expect(text.contains("hunter2") == !isHidden, "\(text)")
            #expect(text.contains("hidden"), "\(text)")
        }
    }
}
