import ArgumentParser

/// Breaks stores in every way that CONTRIBUTING.md describes, and shows that acknowledged commits
/// survive.
@main
struct StetCampaign: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stet-campaign",
        abstract: "Runs fault campaigns against the storage layers of Stet.",
        subcommands: [
            Kills.self, SystemCalls.self, PowerCuts.self, Shutdowns.self, Failures.self, Full.self,
            Damage.self, Simulate.self, Queries.self, SimulateRetention.self, Trims.self,
            Namespaces.self, MovedFiles.self, Forks.self, Clocks.self, Privacy.self,
            Subscriptions.self,
        ],
        groupedSubcommands: [
            CommandGroup(
                name: "Children of a campaign",
                subcommands: [
                    Write.self, Check.self, Hold.self, FailingSession.self, FullSession.self,
                    CarryOut.self, TrimStep.self, CompactInPlace.self,
                    Post.self, Consume.self, Toil.self, Migrate.self, WriteSecrets.self,
                ])
        ])
}
