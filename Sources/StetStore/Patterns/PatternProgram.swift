/// A regular expression as a machine that is in several states at once: it reads each character of
/// a text once, without backtracking.
///
/// It uses Thompson's construction. The time for a text is at most its length times the number of
/// instructions, whatever the expression.
struct PatternProgram: Sendable {
    private enum Instruction {
        case one(PatternClass)
        case edge(PatternEdge)
        case split(Int, Int)
        case jump(Int)
        case end
    }

    /// The greatest number of instructions; repetitions are written out, so a short expression may
    /// need many.
    static let instructionLimit = 10_000

    private var instructions: [Instruction] = []

    /// - Throws: `PatternProblem`.
    init(_ text: String) throws(PatternProblem) {
        try append(try PatternParser.parse(text))
        try emit(.end)
    }

    // MARK: Writing

    private mutating func emit(_ instruction: Instruction) throws(PatternProblem) {
        guard instructions.count < Self.instructionLimit else {
            throw PatternProblem("it needs more than \(Self.instructionLimit) steps")
        }
        instructions.append(instruction)
    }

    private mutating func append(_ node: PatternNode) throws(PatternProblem) {
        switch node {
        case .one(let kind): try emit(.one(kind))
        case .edge(let edge): try emit(.edge(edge))
        case .sequence(let nodes): for node in nodes { try append(node) }
        case .either(let nodes):
            var ends: [Int] = []
            for node in nodes.dropLast() {
                let split = try reserve()
                try append(node)
                ends.append(try reserve())
                instructions[split] = .split(split + 1, instructions.count)
            }
            if let last = nodes.last { try append(last) }
            for end in ends { instructions[end] = .jump(instructions.count) }
        case .repeated(let node, let least, let most):
            for _ in 0..<least { try append(node) }
            guard let most else {
                let split = try reserve()
                try append(node)
                try emit(.jump(split))
                instructions[split] = .split(split + 1, instructions.count)
                return
            }
            var splits: [Int] = []
            for _ in least..<most {
                splits.append(try reserve())
                try append(node)
            }
            for split in splits { instructions[split] = .split(split + 1, instructions.count) }
        }
    }

    /// Appends an instruction that is written later; returns its index.
    private mutating func reserve() throws(PatternProblem) -> Int {
        try emit(.jump(0))
        return instructions.count - 1
    }

    // MARK: Running

    /// The instructions that the machine has reached at one position of the text.
    private struct States {
        /// The reached instructions that read a character, or end.
        var reached: [Int] = []
        private var isSeen: [Bool]

        init(_ count: Int) { isSeen = Array(repeating: false, count: count) }

        mutating func removeAll() {
            reached.removeAll(keepingCapacity: true)
            for index in isSeen.indices { isSeen[index] = false }
        }

        mutating func insert(_ index: Int) -> Bool {
            if isSeen[index] { return false }
            isSeen[index] = true
            return true
        }
    }

    /// Returns whether the program matches a whole text.
    func matches(_ text: String) -> Bool {
        var states = States(instructions.count)
        var next = States(instructions.count)
        var before: Character?
        var characters = text.makeIterator()
        var after = characters.next()
        enter(0, &states, before, after)
        while let character = after, !states.reached.isEmpty {
            before = character
            after = characters.next()
            next.removeAll()
            for index in states.reached {
                if case .one(let kind) = instructions[index], kind.contains(character) {
                    enter(index + 1, &next, before, after)
                }
            }
            swap(&states, &next)
        }
        return after == nil && states.reached.contains(instructions.count - 1)
    }

    /// Enters an instruction, and all that follow from it without reading a character.
    private func enter(
        _ start: Int, _ states: inout States, _ before: Character?, _ after: Character?
    ) {
        var waiting = [start]
        while let index = waiting.popLast() {
            guard states.insert(index) else { continue }
            switch instructions[index] {
            case .one, .end: states.reached.append(index)
            case .edge(let edge):
                if edge.lies(between: before, and: after) { waiting.append(index + 1) }
            case .split(let one, let other): waiting += [one, other]
            case .jump(let target): waiting.append(target)
            }
        }
    }
}
