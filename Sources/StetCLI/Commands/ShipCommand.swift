import ArgumentParser
import StetStore

/// `stet ship`: writes the journal to a directory, from which stores can be restored.
struct ShipCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "ship",
        abstract: "Writes the commits since the last call to files in a directory.",
        discussion: """
            The first call writes a base, which is a verified copy, and later ones the commits \
            since, as segments. A file appears when it is complete, and is never changed again. \
            stet restore makes a store of them, at any commit since the first base. Segments keep \
            values that are redacted later: after that, ship with --base and remove the files \
            before it.
            """)

    @OptionGroup var options: StoreOptions

    @Argument(help: "The directory, for this store only.", completion: .directory)
    var directory: String

    @Flag(help: "Writes a new base, even if there is one.")
    var base = false

    @OptionGroup var progress: ProgressOptions

    func perform(_ output: Output) throws -> ExitCode {
        let copying = progress.copyMeter(output)
        let shipping = progress.meter(output) { "shipped \($0) of \($1) commits" }
        defer {
            copying.end()
            shipping.end()
        }
        var progress = ShippingProgress()
        progress.copied = { copying.report($0.byteCount, of: $0.expectedByteCount) }
        progress.finished = shipping.report
        let shipment = try openStore().ship(to: directory, makesBase: base, progress: progress)
        shipping.end()
        let made = shipment.base.map { "; base of revision \($0)" } ?? ""
        try output.say(
            text: "\(shipment.commitCount) commits, \(shipment.byteCount) bytes, through revision "
                + "\(shipment.revision)\(made)",
            json: .object([
                "base": shipment.base.map { .number($0.number) } ?? .null,
                "byteCount": .integer(shipment.byteCount),
                "commitCount": .integer(shipment.commitCount),
                "revision": .number(shipment.revision.number),
            ]))
        return .success
    }
}
