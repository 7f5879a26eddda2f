import Stet

@Model final class Package {
    #Index<Package>(\.section, \.size, \.name)
    #Index<Package>(\.name, where: { $0.size > 10_000 })

    @Attribute(.indexed) var name: String
    var summary: String
    var size: Int
    var section: Section?
    @Relationship(inverse: \Package.dependents) var dependencies: ToMany<Package>
    var dependents: ToMany<Package>

    init(_ package: ListedPackage, in section: Section?) {
        name = package.name
        summary = package.summary
        size = package.size
        self.section = section
    }
}

@Model final class Section {
    @Attribute(.indexed) var name: String
    @Relationship(inverse: \Package.section) var packages: ToMany<Package>

    init(name: String) { self.name = name }
}

/// The packages of an archive in a store, and the questions about them.
struct StetPackages {
    let store: Store
    var terms: PackageTerms

    /// Stores the packages; a list that one commit cannot hold refers to earlier packages only, and
    /// becomes several.
    init(
        _ list: PackageList, _ terms: PackageTerms, path: String, commitSize: Int = .max
    ) throws {
        store = try Store.open(at: path, for: Package.self, Section.self)
        self.terms = terms
        var ids: [ObjectID] = []
        var sectionIDs: [ObjectID] = []
        var rest = list.packages[...]
        while !rest.isEmpty {
            let context = store.context()
            var sections = try sectionIDs.map { try context.object(Section.self, id: $0) }
            if sections.isEmpty {
                let inserted = list.sections.map(Section.init)
                for section in inserted { context.insert(section) }
                (sections, sectionIDs) = (inserted, inserted.map(\.id))
            }
            let added = rest.prefix(commitSize)
            let first = ids.count
            let packages = added.map { Package($0, in: sections[$0.section]) }
            for package in packages { context.insert(package) }
            ids += packages.map(\.id)
            for (package, listed) in zip(packages, added) {
                for needed in listed.needs {
                    let other =
                        try needed < first
                        ? context.object(Package.self, id: ids[needed]) : packages[needed - first]
                    if let other { package.dependencies.append(other) }
                }
            }
            try context.save()
            rest = rest.dropFirst(commitSize)
        }
    }

    /// Changes the sizes of a hundredth of the packages and removes some dependencies, so that the
    /// first revision is not the last one.
    func change() throws {
        let context = store.context()
        let packages = try context.fetch(Package.self).sorted(by: \.name).all()
        for package in packages.enumerated().filter({ $0.offset.isMultiple(of: 100) }) {
            package.element.size += 1
            package.element.dependencies = ToMany()
        }
        try context.save()
    }

    /// Returns the names of the packages that answer a question, or their number as a text.
    func answer(_ question: PackageQuestion) throws -> [String] {
        try answer(question, store.fetch(Package.self))
    }

    /// Returns the names of the packages that answered a question at the revision of a view.
    func answer(_ question: PackageQuestion, in view: Store.View) throws -> [String] {
        try answer(question, view.fetch(Package.self))
    }

    private func answer(
        _ question: PackageQuestion, _ all: SnapshotFetch<Package>
    ) throws -> [String] {
        let (name, needed, hub, section) = (terms.name, terms.needed, terms.hub, terms.section)
        let (prefix, word) = (terms.prefix, terms.word)
        let found =
            switch question {
            case .name: all.filter { $0.name == name }
            case .prefix: all.filter { $0.name.hasPrefix(prefix) }.sorted(by: \.name)
            case .contains:
                all.filter { $0.summary.folded(.caseInsensitive).contains(word) }
            case .dependents:
                all.filter { $0.dependencies.any { $0.name == needed } }.sorted(by: \.name)
            case .twoHops:
                all.filter { $0.dependencies.any { $0.dependencies.any { $0.name == needed } } }
                    .sorted(by: \.name)
            case .threeHops:
                all.filter {
                    $0.dependencies.any {
                        $0.dependencies.any { $0.dependencies.any { $0.name == needed } }
                    }
                }.sorted(by: \.name)
            case .twoHopsFromHub:
                all.filter { $0.dependencies.any { $0.dependencies.any { $0.name == hub } } }
                    .sorted(by: \.name)
            case .manyDependents:
                all.filter { $0.dependents.count > 1_000 }.sorted(by: \.name)
            case .mostNeeded:
                all.sorted(by: { $0.dependents.count }, .descending).then(by: \.name).limit(10)
            case .largest:
                all.filter { $0.section?.name == section }
                    .sorted(by: \.size, .descending).then(by: \.name, .descending).limit(20)
            case .largestByName:
                all.filter { $0.section?.name == section }
                    .sorted(by: \.size, .descending).then(by: \.name).limit(20)
            case .huge: all.filter { $0.size > 10_000 }.sorted(by: \.name).limit(50)
            case .mostDepended:
                all.sorted(by: { $0.dependents.sum(\.size) }, .descending).then(by: \.name).limit(
                    10)
            }
        if question == .contains { return ["\(try found.count())"] }
        return try found.values(of: \.name)
    }
}
