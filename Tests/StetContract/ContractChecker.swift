import Foundation

/// Runs random steps on the library and on the reference, seed by seed, and reports a difference
/// with the fewest steps that show it.
@MainActor package struct ContractChecker {
    /// The kinds of steps in a run.
    package enum Mode: String, CaseIterable, Sendable {
        /// One context.
        case solo
        /// Three contexts that merge.
        case several
        /// One context, and several, with asynchronous saves.
        case flights, severalFlights
        /// Undo, redo and revert, with trims in between, by one author and by several.
        case undo, severalUndo

        var contexts: Int { [.solo, .flights, .undo].contains(self) ? 1 : 3 }
        var undoes: Bool { [.undo, .severalUndo].contains(self) }
        var flies: Bool { [.flights, .severalFlights].contains(self) }
    }

    /// The number of steps in one run.
    package static let runLength = 120

    /// The number of steps that were carried out.
    package private(set) var stepCount = 0
    /// The number of times that each outcome occurred.
    package private(set) var counts: [String: Int] = [:]

    package init() {}

    /// Runs one seed, and returns a description of the difference that it found.
    package mutating func run(
        seed: UInt64, _ mode: Mode, steps: Int = runLength, minimizes: Bool = true
    ) async throws -> String? {
        let run = try await ContractRun(contexts: mode.contexts)
        var generator = StepGenerator(seed: seed, flies: mode.flies, undoes: mode.undoes)
        var moves: [Move] = []
        do {
            for _ in 0..<steps {
                let move = generator.move(run.scenes)
                moves.append(move)
                stepCount += 1
                try await run.perform(move)
            }
            try run.finish()
            counts.merge(run.counts) { $0 + $1 }
            return nil
        } catch {
            if minimizes { moves = try await minimized(moves, mode) }
            let found = try await Self.failure(of: moves, mode) ?? "\(error), once"
            let program = moves.map { "  \($0)" }.joined(separator: "\n")
            return "seed \(seed), \(mode):\n\(program)\n\(found)"
        }
    }

    /// Returns a description of what is wrong after some steps; nil if nothing is.
    private static func failure(of moves: [Move], _ mode: Mode) async throws -> String? {
        let run = try await ContractRun(contexts: mode.contexts)
        do {
            for move in moves { try await run.perform(move) }
            try run.finish()
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// Returns the fewest of these steps that still show a difference.
    private func minimized(_ moves: [Move], _ mode: Mode) async throws -> [Move] {
        var moves = moves
        var size = max(1, moves.count / 2)
        while true {
            var start = moves.count
            var isShorter = false
            while start > 0 {
                let range = max(0, start - size)..<start
                start = range.lowerBound
                var fewer = moves
                fewer.removeSubrange(range)
                guard try await Self.failure(of: fewer, mode) != nil else { continue }
                moves = fewer
                isShorter = true
            }
            if size == 1, !isShorter { return moves }
            size = max(1, size / 2)
        }
    }
}
