import Stet
import StetStore

extension RunReference {
    /// Returns the states after the commits that seal the values of an object anew: one for each
    /// model with values by an earlier version of its key.
    fileprivate func sealedAnew(
        by owner: Label, _ keys: Keys, time: Int
    ) -> (states: [World], objectCount: Int, breaches: Set<Breach>) {
        var states = [states[head]]
        var objectCount = 0
        for kind in Kind.allCases {
            let base = states[states.count - 1]
            var world = base
            for (label, object) in base.objects where object.kind == kind {
                let version = keys.versions[owner] ?? 0
                guard let secret = object.secret else { continue }
                let present = kind == .item ? object.references[.box] : label
                let isLeftBehind =
                    secret.owner != owner && present == owner && keys.isReadable(secret)
                guard isLeftBehind || secret.owner == owner && secret.version != version else {
                    continue
                }
                world.objects[label]?.secret?.owner = owner
                world.objects[label]?.secret?.version = version
                world.objects[label]?.stamp = time
                objectCount += 1
            }
            if world == base { continue }
            // What an undo has left with an earlier owner goes to the present one.
            let breaches = world.seal(since: base, moved: [], keys)
            if !breaches.isEmpty { return (Array(states.dropFirst()), objectCount, breaches) }
            states.append(world)
        }
        return (Array(states.dropFirst()), objectCount, [])
    }
}

extension ContractRun {
    /// Gives an object another key, or destroys its keys, if it has one.
    func changeKey(of label: Label, destroys: Bool) throws {
        guard let id = registry.ids[label], !registry.destroyed.contains(label),
            try keys.presentVersion(of: id) != nil
        else { return }
        if destroys {
            try keys.destroyKey(of: id)
            registry.destroyed.insert(label)
        } else {
            try keys.rotateKey(of: id)
        }
        for index in scenes.indices {
            scenes[index].keys.destroyed = registry.destroyed
            scenes[index].keys.versions[label, default: 0] += destroys ? 0 : 1
        }
        count(destroys ? "key destroyed" : "key rotated")
    }

    /// Seals the values of an object anew, and compares the commits with the reference.
    func sealAnew(by label: Label) async throws {
        guard let id = registry.ids[label] else { return }
        time += 1
        let isErased = registry.destroyed.contains(label)
        let expected = reference.sealedAnew(by: label, scenes[0].keys, time: time)
        var outcome = Ended.nothing
        var objectCount = 0
        do { objectCount = try await store.sealAnew(by: id) } catch { outcome = ending(error) }
        try adoptSealing(isErased ? [] : expected.states)
        switch outcome {
        case .failed(let error as SealingError) where error.code == .erased && isErased:
            count("sealing anew of what is erased")
        case .refused(let breaches) where breaches == expected.breaches && !isErased:
            count("sealing anew refused")
        case .nothing
        where expected.breaches.isEmpty && objectCount == expected.objectCount
            && !isErased:
            count(objectCount == 0 ? "nothing sealed anew" : "sealed anew")
        default:
            throw Difference(
                "\(objectCount) objects were sealed anew, not \(expected.objectCount): \(outcome)")
        }
    }

    private func adoptSealing(_ states: [World]) throws {
        let after = Revision(UInt64(reference.head + 1))
        let commits = try store.journal(from: .revision(after))
        for (index, commit) in commits.enumerated() {
            try adoptFolded(commit)
            guard states.indices.contains(index) else {
                throw Difference("sealing anew made \(commit)")
            }
            let now = reference.states[reference.head]
            if let text = now.difference(from: states[index].visible) {
                throw Difference("sealing anew came to\n  \(text)")
            }
        }
        if commits.count < states.count {
            throw Difference("sealing anew made \(commits.count) commits of \(states.count)")
        }
    }
}
