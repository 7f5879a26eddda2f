import Stet
import StetMachines

@Model final class Register {
    @Attribute(.unique) var number: Int
    var value: Int = 0
    @Attribute(.counter) var total: Int = 0
    init(number: Int) { self.number = number }
}

@Model final class Claim {
    @Attribute(.unique) var key: Int
    var value: Int
    init(key: Int, value: Int) {
        self.key = key
        self.value = value
    }
}

extension ManagedContext {
    /// Reads everything.
    func machineState() throws -> MachineState {
        var state = MachineState()
        for register in try fetch(Register.self).all() {
            state.values[register.number] = register.value
            state.totals[register.number] = register.total
        }
        for claim in try fetch(Claim.self).all() { state.claims[claim.key] = claim.value }
        return state
    }

    func apply(_ edit: Edit) throws {
        switch edit {
        case .set(let number, let value):
            try register(number).value = value
        case .add(let number):
            try register(number).total += 1
        case .claim(let key, let value):
            insert(Claim(key: key, value: value))
        }
    }

    private func register(_ number: Int) throws -> Register {
        guard let found = try fetch(Register.self, where: { $0.number == number }).first() else {
            throw MachineFailure("register \(number) is missing")
        }
        return found
    }
}
