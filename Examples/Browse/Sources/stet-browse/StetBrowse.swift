import ArgumentParser
import Foundation
import Hummingbird
import Logging
import Markup

/// The inspector: a store in a browser.
@main struct StetBrowse: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stet-browse", abstract: "Shows a store in a browser on this machine.",
        discussion: """
            Prints the address, which contains a random token and works for nobody else. Listens on \
            the loopback only, and changes nothing unless --write is given. Ends with Ctrl-C.
            """)

    @Argument(help: "The store's file.") var store: String
    @Option(help: "The port; a free one without it.") var port = 0
    @Flag(help: "Lets the pages undo and redo.") var write = false
    @Option(help: "The program stet; the one beside this program without it.") var tool: String?

    func run() async throws {
        let tool = Tool(program: try program(), store: store)
        // Fails here, before there is an address, if the file is no store.
        do {
            _ = try await tool.describe()
        } catch let failure as Tool.Failure {
            throw ValidationError("\(failure.message) \(failure.advice ?? "")")
        }
        var logger = Logger(label: "stet-browse")
        logger.logLevel = .warning
        let token = (0..<16).map { _ in String(format: "%02x", UInt8.random(in: 0...255)) }.joined()
        let router = Router(context: InspectorContext.self)
        router.add(middleware: SecurityHeaders())
        router.add(middleware: Failures())
        router.add(middleware: Guard(token: token))
        router.add(
            middleware: FileMiddleware(Bundle.module.bundlePath + "/Public", logger: logger))
        Inspector(tool: tool, mayWrite: write).add(to: router)
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? 0
                let line = "http://127.0.0.1:\(port)/?token=\(token)\n"
                try? FileHandle.standardOutput.write(contentsOf: Data(line.utf8))
            },
            logger: logger)
        try await application.runService()
    }

    private func program() throws -> String {
        let beside = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appending(path: "stet").path
        let program = tool ?? beside
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw ValidationError("\(program) is no program: name stet with --tool.")
        }
        return program
    }
}
