/// The outcomes of a save that the reference allows.
enum Expected {
    case committed(World, uncertain: Set<OwnedList>)
    /// No net change; the context may have followed the store.
    case nothing
    case refused(Set<Breach>)
    case conflict
    /// One of two outcomes, depending on why the writer refuses the first attempt.
    indirect case either(Expected, Expected)

    /// The states that a commit may lead to, with the lists whose order is unknown.
    var commits: [(world: World, uncertain: Set<OwnedList>)] {
        switch self {
        case .committed(let world, let uncertain): [(world, uncertain)]
        case .either(let one, let other): one.commits + other.commits
        default: []
        }
    }

    /// Returns the alternative that agrees with an outcome.
    func agreeing(with ended: Ended) -> Expected {
        guard case .either(let one, let other) = self else { return self }
        switch (one, ended) {
        case (.committed, .committed), (.nothing, .nothing), (.refused, .refused),
            (.conflict, .conflict), (_, .failed):
            return one
        default: return other.agreeing(with: ended)
        }
    }
}

extension Scene {
    /// Returns the expected outcome of a save that nothing but the contract makes fail.
    func expectedSave(_ run: RunReference, moved: Set<Label>) -> Expected {
        var scene = self
        scene.now.normalize(since: base)
        let expected = scene.expectedSaveOfAll(run, moved: moved)
        if revision == run.head { return expected }
        if case .refused = expected { return expected }
        // The pending changes are merged only after the writer has refused them.
        let vain = scene.withoutVainEdits(
            scene.now.prepared(since: base, moved: moved, keys).world, run.states[run.head])
        // An object that others have deleted counts as edited, even if normalisation removes the
        // edit.
        return .either(
            vain.expectedSaveOfAll(run, moved: moved),
            .either(expected, expectedSaveOfAll(run, moved: moved)))
    }

    private func expectedSaveOfAll(_ run: RunReference, moved: Set<Label>) -> Expected {
        let isBehind = revision < run.head
        let touched = run.touched(since: revision, keys)
        let (first, breaches) = now.prepared(since: base, moved: moved, keys)
        let certain = isBehind ? breaches.filter { isCertain($0, first, touched.all) } : breaches
        if !certain.isEmpty { return .refused(certain) }
        if first.visible == base.visible, moved.isEmpty, !now.hasDangling { return .nothing }
        var onto = now
        var uncertain = self.uncertain
        if isBehind {
            let theirs = run.states[run.head]
            guard
                case .world(let merged, let unknown) = merged(
                    onto: theirs, touched: touched, moved: moved)
            else { return .conflict }
            onto = merged
            uncertain.formUnion(unknown)
        }
        if onto.hasDangling {
            guard policy.letsGo else { return .conflict }
            onto.letGo()
        }
        let (last, all) = onto.prepared(
            since: run.states[run.head], moved: moved, keys)
        if !all.isEmpty { return .refused(all) }
        if last.visible == run.states[run.head].visible, moved.isEmpty { return .nothing }
        return .committed(last, uncertain: uncertain)
    }

    /// Returns the scene without the edits that delete rules cancel: they are not in the change
    /// set.
    private func withoutVainEdits(_ next: World, _ theirs: World) -> Scene {
        var scene = self
        for (label, object) in base.objects where next.objects[label] == object {
            if now.isAlive(label) { scene.now.take(object, label, isDead: false) }
        }
        let deletedByOthers = Set(base.objects.keys.filter(theirs.hasLost))
        for label in Set(base.objects.keys).subtracting(deletedByOthers)
        where now.isAlive(label) && next.hasLost(label) {
            for (relation, target) in now.objects[label]?.references ?? [:]
            where deletedByOthers.contains(target) {
                scene.now.refer(relation, label, to: nil)
            }
        }
        for relation in Relation.links {
            let added = (now.links[relation] ?? []).subtracting(base.links[relation] ?? [])
            for pair in added
            where next.hasLost(pair.source) && deletedByOthers.contains(pair.target)
                || next.hasLost(pair.target) && deletedByOthers.contains(pair.source)
            {
                scene.now.setLink(relation, pair, false)
            }
        }
        return scene
    }

    /// Returns false for a breach that a save behind the store leaves to the writer to decide:
    /// others may have resolved it.
    private func isCertain(_ breach: Breach, _ next: World, _ touched: Set<Label>) -> Bool {
        if breach.code == 1590 { return false }
        guard breach.code == 1551, let object = next.objects[breach.object] else { return true }
        return next.objects.contains { label, other in
            label != breach.object && other.kind == object.kind && other.claim == object.claim
                && (other.claim != base.objects[label]?.claim || !touched.contains(label))
        }
    }
}
