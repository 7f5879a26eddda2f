import FoundationEssentials
import Glibc

/// The files of a store as power cuts at random moments of a trace may have left them.
///
/// For each image a cut is chosen between two events. Data that was synced before the cut is in the
/// image; a ``Mode`` decides which other data is. Everything is applied in the order of the trace,
/// so a later write wins if two overlap. If the event after the cut is a synchronous write, it is
/// in flight and treated like an unsynced write. An unsynced truncation is present or absent as a
/// whole, and so is each unsynced change of a name: the file then exists or not, or is still the
/// former one.
///
/// After a disk error the system regards data that it failed to write as written: data that a
/// failed call wrote, or was to sync, is never safe unless it is written again.
///
/// The same trace, seed and index produce the same image, regardless of the count.
package struct PowerCutImages: Sendable {
    /// The choice of the unsynced writes that reached the disk.
    ///
    /// The images take the modes in turn.
    package enum Mode: String, CaseIterable, Sendable {
        /// None.
        case none
        /// All.
        case all
        /// Each write or not, by chance.
        case subset
        /// Each sector of 512 bytes of each write or not, by chance.
        ///
        /// A sector is atomic, as LMDB's meta page needs.
        case torn
    }

    /// The state of the disk after a cut, without the bytes, and the saves that had been
    /// acknowledged.
    package struct Image: Sendable {
        /// The acknowledgements before the cut, as they were written: `ack …` with its newline.
        package let acknowledged: [String]
        /// The number of the first acknowledgements for which what had been written to a log was
        /// synced before the cut.
        package let loggedCount: Int
        /// The names of the existing files, without the name of the store; empty for its data file.
        package let names: [String]
        /// A line that names the image in a failure.
        package let description: String

        /// False if the data file has no name yet, and so does not exist.
        package var hasName: Bool { names.contains("") }
    }

    /// The number of images.
    package let count: Int
    private let seed: UInt64
    private let initial: [UInt8]
    /// The first event before which a cut may occur: a file that already existed has its name by
    /// then.
    private let firstEvent: Int
    private let eventCount: Int
    private let operations: [Operation]
    /// The acknowledgements, and the event by which what a log had by then is durable.
    private let acknowledgements: [(event: Int, text: String, isLoggedFrom: Int)]
    private let nameChanges: [NameChange]

    /// Prepares images of a trace.
    ///
    /// `initial` contains the bytes of the data file before the trace began; a new file has none.
    package init(_ trace: WriteTrace, seed: UInt64, count: Int, initial: [UInt8] = []) {
        self.count = count
        self.seed = seed
        self.initial = initial
        eventCount = trace.events.count
        firstEvent = initial.isEmpty ? 0 : min(2, eventCount)
        operations = Operation.all(of: trace)
        nameChanges = NameChange.all(of: trace)
        let logs = Set(nameChanges.filter { $0.name.hasPrefix("-log") }.compactMap(\.file))
        var logWrites = operations.filter { logs.contains($0.file) }[...]
        var isLoggedFrom = 0
        acknowledgements = trace.events.enumerated().compactMap { index, event in
            while let write = logWrites.first, write.event < index {
                isLoggedFrom = write.durableFrom
                logWrites.removeFirst()
            }
            return event.acknowledgement.map { (index, $0, isLoggedFrom) }
        }
    }

    /// Writes image `index` to a file, and to files beside it whose names begin with its name.
    ///
    /// Existing files are replaced; a file that has no name yet is not written. LMDB's lock file is
    /// not touched.
    ///
    /// - Throws: `CocoaError` if a file cannot be written.
    /// - Complexity: O(bytes written before the cut).
    package func write(_ index: Int, to path: String) throws -> Image {
        precondition(
            (0..<count).contains(index), "There are \(count) images; \(index) is not one of them.")
        var generator = SeededGenerator(seed: seed, stream: index)
        let cut = Int.random(in: firstEvent...eventCount, using: &generator)
        let mode = Mode.allCases[index % Mode.allCases.count]
        let survivors = survivors(at: cut, mode, using: &generator)
        let names = names(at: cut, mode, using: &generator)
        for (name, file) in names {
            // File 0 existed before the trace.
            let bytes = file == 0 ? initial : []
            try FileImage(bytes, survivors.effects[file] ?? []).write(to: path + name)
        }
        let acknowledged = acknowledgements.prefix { $0.event < cut }.map(\.text)
        let description =
            "seed \(seed), image \(index): cut before event \(cut) of \(eventCount), "
            + "\(acknowledged.count) acknowledged; "
            + "unsynced writes: \(mode.rawValue), "
            + "\(survivors.kept) of \(survivors.unsynced) parts kept"
        return Image(
            acknowledged: acknowledged,
            loggedCount: acknowledgements.prefix { $0.event < cut && $0.isLoggedFrom < cut }.count,
            names: names.keys.sorted(), description: description)
    }

    /// Returns the files that have names after a cut before event `cut`.
    private func names(
        at cut: Int, _ mode: Mode, using generator: inout SeededGenerator
    ) -> [String: Int] {
        var names: [String: Int] = [:]
        for change in nameChanges.prefix(while: { $0.event < cut }) {
            let isKept =
                switch mode {
                case _ where change.durableFrom < cut: true
                case .none: false
                case .all: true
                case .subset, .torn: Bool.random(using: &generator)
                }
            if isKept { names[change.name] = change.file }
        }
        return names
    }

    /// Returns the data on the disk for each file after a cut before event `cut`, and how many
    /// parts of the unsynced writes it includes.
    private func survivors(
        at cut: Int, _ mode: Mode, using generator: inout SeededGenerator
    ) -> (effects: [Int: [Effect]], unsynced: Int, kept: Int) {
        var effects: [Int: [Effect]] = [:]
        var unsynced = 0
        var kept = 0
        for operation in operations.prefix(while: { $0.began(before: cut) }) {
            if operation.durableFrom < cut {
                effects[operation.file, default: []].append(operation.effect)
                continue
            }
            for part in mode == .torn ? operation.effect.sectors : [operation.effect] {
                unsynced += 1
                let isKept =
                    switch mode {
                    case .none: false
                    case .all: true
                    case .subset, .torn: Bool.random(using: &generator)
                    }
                guard isKept else { continue }
                kept += 1
                effects[operation.file, default: []].append(part)
            }
        }
        return (effects, unsynced, kept)
    }
}

/// A name that a file is given or that is removed, and the event that makes this durable.
private struct NameChange: Sendable {
    let event: Int
    /// The event that makes the change durable, or `Int.max`.
    let durableFrom: Int
    let name: String
    /// The file that has the name afterwards; nil for none.
    let file: Int?

    static func all(of trace: WriteTrace) -> [NameChange] {
        var changes: [NameChange] = []
        var nextSync = Int.max
        for (index, event) in trace.events.enumerated().reversed() {
            let (name, file): (String, Int?)
            switch event {
            case .name(let given): (name, file) = (given, trace.files[index])
            case .removal(let removed): (name, file) = (removed, nil)
            case .nameSync:
                nextSync = index
                continue
            default: continue
            }
            changes.append(
                NameChange(event: index, durableFrom: nextSync, name: name, file: file))
        }
        return changes.reversed()
    }
}

/// An event that changes the file, and the event that makes the change durable.
private struct Operation: Sendable {
    let event: Int
    /// The event that makes the change durable: itself, a later sync, or `Int.max`.
    let durableFrom: Int
    let file: Int
    let effect: Effect

    /// Returns whether a cut before event `cut` may find the effect on the disk.
    func began(before cut: Int) -> Bool {
        event < cut || (event == cut && durableFrom == event)
    }

    static func all(of trace: WriteTrace) -> [Operation] {
        var operations: [Operation] = []
        var nextSyncs: [Int: Int] = [:]
        for (index, event) in trace.events.enumerated().reversed() {
            let file = trace.files[index]
            let nextSync = nextSyncs[file] ?? Int.max
            let (effect, durableFrom): (Effect, Int)
            switch event {
            case .write(let offset, let bytes):
                (effect, durableFrom) = (.write(offset, bytes), nextSync)
            case .synchronousWrite(let offset, let bytes):
                (effect, durableFrom) = (.write(offset, bytes), index)
            case .lostWrite(let offset, let bytes):
                (effect, durableFrom) = (.write(offset, bytes), Int.max)
            case .truncate(let byteCount):
                (effect, durableFrom) = (.truncate(byteCount), nextSync)
            case .sync:
                nextSyncs[file] = index
                continue
            case .failedSync:
                nextSyncs[file] = nil
                continue
            case .output, .name, .removal, .nameSync:
                continue
            }
            operations.append(
                Operation(event: index, durableFrom: durableFrom, file: file, effect: effect))
        }
        return operations.reversed()
    }
}

/// A change of the file that is made as a whole.
private enum Effect: Sendable {
    case write(Int, ArraySlice<UInt8>)
    case truncate(Int)

    /// The parts that the disk writes one by one: a write is split at the file's multiples of 512.
    var sectors: [Effect] {
        guard case .write(let offset, let bytes) = self else { return [self] }
        var parts: [Effect] = []
        var start = offset
        let end = offset + bytes.count
        while start < end {
            let next = min((start / 512 + 1) * 512, end)
            let first = bytes.startIndex + start - offset
            parts.append(.write(start, bytes[first..<first + next - start]))
            start = next
        }
        return parts
    }
}

/// A file in memory, built from effects with one copy each.
private struct FileImage {
    private let initial: [UInt8]
    private let effects: [Effect]
    /// The largest size in between, for which memory has to be allocated.
    private let peakByteCount: Int

    init(_ initial: [UInt8], _ effects: [Effect]) {
        self.initial = initial
        self.effects = effects
        peakByteCount = effects.reduce(initial.count) { peak, effect in
            switch effect {
            case .write(let offset, let bytes): max(peak, offset + bytes.count)
            case .truncate(let byteCount): max(peak, byteCount)
            }
        }
    }

    func write(to path: String) throws {
        // `calloc` instead of an array: filling one with zeros costs more than everything else in a
        // debug build.
        guard let memory = calloc(max(peakByteCount, 1), 1) else {
            throw CocoaError(.fileWriteOutOfSpace)
        }
        defer { free(memory) }
        let byteCount = apply(to: memory)
        let data = Data(bytesNoCopy: memory, count: byteCount, deallocator: .none)
        try data.write(to: URL(filePath: path))
    }

    /// Fills `memory`, which is zeroed, and returns the size of the file.
    private func apply(to memory: UnsafeMutableRawPointer) -> Int {
        var byteCount = initial.count
        copy(initial[...], to: memory)
        for effect in effects {
            switch effect {
            case .write(let offset, let bytes):
                copy(bytes, to: memory + offset)
                byteCount = max(byteCount, offset + bytes.count)
            case .truncate(let size):
                if size < byteCount { memset(memory + size, 0, byteCount - size) }
                byteCount = size
            }
        }
        return byteCount
    }

    private func copy(_ bytes: ArraySlice<UInt8>, to target: UnsafeMutableRawPointer) {
        bytes.withUnsafeBytes { source in
            guard let base = source.baseAddress, source.count > 0 else { return }
            memcpy(target, base, source.count)
        }
    }
}
