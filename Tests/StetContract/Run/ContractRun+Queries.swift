import Stet

extension ContractRun {
    /// Compares derived numbers with those of the reference.
    func compareTotals(_ totals: [Label: Int], _ world: World, _ subject: String) throws {
        for label in world.objects.keys.sorted() where world.isAlive(label) {
            guard let expected = world.total(of: label), expected != totals[label] else { continue }
            let total = totals[label].map(String.init) ?? "nil"
            throw Difference("\(subject) has \(label).total \(total), not \(expected)")
        }
    }

    /// Compares what a context computes and finds with its scene: derived numbers, words, and
    /// parts of texts.
    func compareQueries(_ index: Int) throws {
        let (scene, stage) = (scenes[index], stages[index])
        try compareTotals(stage.totals, scene.now, "context \(index)")
        let search = Search.allCases[query % Search.allCases.count]
        try expect(stage.found(by: search), scene.now.found(by: search), search.rawValue)
        let part = ["a", "b", " ", "a b", "na"][query % 5]
        let leaves = scene.now.alive(.leaf).filter { scene.now.objects[$0]!.name.contains(part) }
        try expect(stage.leaves(containing: part), Set(leaves), "leaves with \(part)")
        let total = query % 12 - 1
        // A save in progress has not yet derived the numbers of objects that it does not change.
        if !isFlying {
            let found = try stage.found(withTotal: total)
            try expect(found, scene.found(withTotal: total, Set(found)), "total \(total)")
        }
    }

    private func expect(_ found: [Label], _ expected: Set<Label>, _ query: String) throws {
        if found.sorted() != expected.sorted() {
            throw Difference("\(query) finds \(found.sorted()), not \(expected.sorted())")
        }
    }
}

extension Scene {
    /// Returns the objects that a query by the derived number must find.
    ///
    /// An object without edits of its own is found by its saved number; an edit that changes
    /// nothing may count as one.
    fileprivate func found(withTotal total: Int, _ found: Set<Label>) -> Set<Label> {
        let labels = now.objects.keys.filter { label in
            guard now.isAlive(label), now.objects[label]?.kind != .box else { return false }
            let isInNow = now.total(of: label) == total
            if now.objects[label] != base.objects[label] { return isInNow }
            let isInBase = base.total(of: label) == total
            return named.contains(label) && isInNow != isInBase ? found.contains(label) : isInBase
        }
        return Set(labels)
    }
}

extension Stage {
    fileprivate func found(by search: Search) throws -> [Label] {
        func found<M: Thing>(_ type: M.Type) throws -> [Label] {
            try context.fetch(type).matching(search.rawValue).all().map(registry.label)
        }
        return try Kind.allCases.flatMap { try found($0.model) }
    }

    fileprivate func leaves(containing part: String) throws -> [Label] {
        try context.fetch(Leaf.self) { $0.name.contains(part) }.all().map(registry.label)
    }

    /// Returns the objects with a derived number, of the models that have an index of it.
    fileprivate func found(withTotal total: Int) throws -> [Label] {
        try context.fetch(Item.self) { $0.total == total }.all().map(registry.label)
            + context.fetch(Tag.self) { $0.total == total }.all().map(registry.label)
            + context.fetch(Leaf.self) { $0.total == total }.all().map(registry.label)
    }
}
