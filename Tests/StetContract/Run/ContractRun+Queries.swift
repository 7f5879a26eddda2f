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
        // Three letters and more are found in the index.
        let part = ["a", "b", " ", "a b", "b  c", "long"][query % 6]
        let leaves = scene.now.alive(.leaf).filter { scene.now.objects[$0]!.name.contains(part) }
        try expect(stage.leaves(containing: part), Set(leaves), "leaves with \(part)")
        let ends = leaves.filter { scene.now.objects[$0]!.name.hasSuffix(part) }
        try expect(stage.leaves(endingWith: part), Set(ends), "leaves that end with \(part)")
        try compareThings(index)
        try compareSecrets(index)
        let total = query % 12 - 1
        // A save in progress has not yet derived the numbers of objects that it does not change.
        if !isFlying {
            let found = try stage.found(withTotal: total)
            try expect(found, scene.found(withTotal: total, Set(found)), "total \(total)")
        }
    }

    /// Compares a page of objects of all models, in an order of two keys.
    private func compareThings(_ index: Int) throws {
        let (number, offset) = (query % 4, query % 3)
        let world = scenes[index].now
        let numbers = world.objects.keys.filter(world.isAlive)
            .compactMap { world.objects[$0] }
            .filter { $0.number >= number && ($0.pose == nil || $0.key != nil) }
            .map { [-$0.count, $0.number] }
            .sorted { $0.lexicographicallyPrecedes($1) }
        let found = try stages[index].things(from: number, offset: offset, limit: 4)
        let page = Array(numbers.dropFirst(offset).prefix(4))
        if found != page {
            throw Difference("things from \(number) are \(found), not \(page)")
        }
    }

    /// Compares the objects with a number that is sealed by the key of a box.
    private func compareSecrets(_ index: Int) throws {
        let (scene, number) = (scenes[index], query % 3)
        let boxes = scene.now.alive(.box)
        guard let owner = boxes.element(at: query % max(boxes.count, 1)) else { return }
        let isErased = scene.keys.destroyed.contains(owner)
        let found: [Label]
        do {
            found = try stages[index].found(withSecret: number, by: owner)
            if isErased { throw Difference("what \(owner) has sealed is found without its key") }
        } catch let error as SealingError where error.code == .erased && isErased {
            return count("query for what is erased")
        }
        let expected = scene.now.objects.filter { label, object in
            guard scene.now.isAlive(label), let secret = object.secret else { return false }
            let present = object.kind == .item ? object.references[.box] : label
            return secret.number == number && (secret.owner ?? present) == owner
                && [.item, .box].contains(object.kind)
        }
        if !found.isEmpty { count("found by a sealed value") }
        try expect(found, Set(expected.keys), "\(number) sealed by \(owner)")
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

    fileprivate func leaves(endingWith part: String) throws -> [Label] {
        try context.fetch(Leaf.self) { $0.name.hasSuffix(part) }.all().map(registry.label)
    }

    /// Returns the objects with a number that the key of an object has sealed, of the models that
    /// have an index of it.
    fileprivate func found(withSecret number: Int, by owner: Label) throws -> [Label] {
        guard let id = registry.ids[owner] else { return [] }
        func isMet(_ field: _OptionalSealedField<Int>) -> QueryExpression<Bool> {
            field.isEqual(to: number, sealedBy: id)
        }
        return try context.fetch(Box.self) { isMet($0.secret) }.all().map(registry.label)
            + context.fetch(Item.self) { isMet($0.secret) }.all().map(registry.label)
    }

    /// Returns the negated counters and the numbers of objects of all models.
    fileprivate func things(from number: Int, offset: Int, limit: Int) throws -> [[Int]] {
        let query = context.fetch(any: ThingModels.self) {
            $0.number >= number && ($0.pose == nil || $0.key != nil)
        }
        .sorted(by: \.count, .descending).then(by: \.number).offset(offset).limit(limit)
        return try query.all().map { [-$0.count, $0.number] }
    }

    /// Returns the objects with a derived number, of the models that have an index of it.
    fileprivate func found(withTotal total: Int) throws -> [Label] {
        try context.fetch(Item.self) { $0.total == total }.all().map(registry.label)
            + context.fetch(Tag.self) { $0.total == total }.all().map(registry.label)
            + context.fetch(Leaf.self) { $0.total == total }.all().map(registry.label)
    }
}
