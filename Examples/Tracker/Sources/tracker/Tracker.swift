import ArgumentParser
import Foundation
import Hummingbird
import Logging
import Markup
import Metrics
import Stet
import StetServiceLifecycle

/// An issue tracker: a service and its pages, over one store.
@main struct Tracker: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "An issue tracker over a Stet store.", subcommands: [Serve.self, Seed.self],
        defaultSubcommand: Serve.self)

    struct Location: ParsableArguments {
        @Option(help: "The file of the store.") var store = "tracker.stet"
    }
}

extension Tracker {
    struct Serve: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Serves until SIGTERM or SIGINT.")

        @OptionGroup var location: Location
        @Option(help: "The address to listen on.") var host = "127.0.0.1"
        @Option(help: "The port to listen on.") var port = 8080
        @Option(help: "The directory of backups.") var backups = "backups"

        func run() async throws {
            let metrics = PrometheusMetrics()
            MetricsSystem.bootstrap(metrics)
            var configuration = Store.Configuration()
            configuration.logger = Logger(label: "store")
            let store = try Store.tracker(at: location.store, configuration: configuration)
            var logger = Logger(label: "tracker")
            logger.logLevel = .notice
            let operations = Operations(
                store: store, metrics: metrics,
                backups: URL(filePath: backups, directoryHint: .isDirectory))
            let host = host
            let application = Application(
                router: router(operations, logger),
                configuration: .init(address: .hostname(host, port: port)),
                // The store before the server, which is therefore shut down first.
                services: [store],
                onServerRunning: { channel in
                    // Standard output may be a pipe.
                    let port = channel.localAddress?.port ?? 0
                    let line = "http://\(host):\(port)\n"
                    try? FileHandle.standardOutput.write(contentsOf: Data(line.utf8))
                },
                logger: logger)
            try await application.runService()
        }

        /// The routes.
        ///
        /// The operator's token comes from the environment, which other users of the machine cannot
        /// read.
        private func router(_ operations: Operations, _ logger: Logger)
            -> Router<TrackerContext>
        {
            let store = operations.store
            let token = ProcessInfo.processInfo.environment["TRACKER_TOKEN"]
            let router = Router(context: TrackerContext.self)
            router.add(middleware: TracingMiddleware())
            router.add(middleware: MetricsMiddleware())
            router.add(middleware: SecurityHeaders())
            router.add(middleware: ProblemMiddleware())
            router.add(
                middleware: FileMiddleware(Bundle.module.bundlePath + "/Public", logger: logger))
            operations.add(to: router.group())
            let people = router.group()
                .add(middleware: RevisionMiddleware(store: store))
                .add(middleware: AuthorMiddleware(store: store))
            API(store: store).add(to: people.group("api"))
            Pages(store: store).add(to: people)
            operations.addRestricted(
                to: router.group("api").add(middleware: OperatorMiddleware(token: token)))
            return router
        }
    }

    struct Seed: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Fills a new store with an example.")

        @OptionGroup var location: Location
        @Option(help: "The number of issues.") var issues = 40
        @Option(help: "A label that every issue gets.") var label: String?
        @Flag(help: "Make a store of the first version of the models.") var firstVersion = false

        func run() async throws {
            if firstVersion {
                try await Example.fillFirstVersion(at: location.store)
            } else {
                try await Example.fill(location.store, issueCount: issues, label: label)
            }
        }
    }
}
