import GRDB

/// The packages of an archive in SQLite, with the indexes that an expert would create.
struct GRDBPackages {
    private let pool: DatabasePool
    private let terms: PackageTerms

    init(_ list: PackageList, _ terms: PackageTerms, path: String) throws {
        pool = try GRDBPeer.openPool(path, .tuned)
        self.terms = terms
        try pool.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE section (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
                    CREATE TABLE package (
                        id INTEGER PRIMARY KEY, name TEXT NOT NULL, summary TEXT NOT NULL,
                        size INTEGER NOT NULL, section INTEGER NOT NULL REFERENCES section);
                    CREATE TABLE dependency (
                        package INTEGER NOT NULL REFERENCES package,
                        needed INTEGER NOT NULL REFERENCES package,
                        PRIMARY KEY (package, needed)) WITHOUT ROWID;
                    """)
            for (number, name) in list.sections.enumerated() {
                try database.execute(
                    sql: "INSERT INTO section VALUES (?, ?)", arguments: [number, name])
            }
            let insert = try database.makeStatement(
                sql: "INSERT INTO package VALUES (?, ?, ?, ?, ?)")
            for (number, package) in list.packages.enumerated() {
                try insert.execute(
                    arguments: [
                        number, package.name, package.summary, package.size, package.section,
                    ])
            }
            let link = try database.makeStatement(sql: "INSERT INTO dependency VALUES (?, ?)")
            for (number, package) in list.packages.enumerated() {
                for needed in package.needs { try link.execute(arguments: [number, needed]) }
            }
            try database.execute(
                sql: """
                    CREATE INDEX package_name ON package (name);
                    CREATE INDEX package_section ON package (section, size, name);
                    CREATE INDEX package_section_name ON package (section, size DESC, name);
                    CREATE INDEX package_huge ON package (name) WHERE size > 10000;
                    CREATE INDEX dependency_needed ON dependency (needed, package);
                    ANALYZE;
                    """)
        }
    }

    func answer(_ question: PackageQuestion) throws -> [String] {
        try pool.read { database in
            let statement = try database.cachedStatement(sql: sql(question))
            return try String.fetchAll(statement, arguments: arguments(question))
        }
    }

    private func arguments(_ question: PackageQuestion) -> StatementArguments {
        switch question {
        case .name: [terms.name]
        // The upper bound of the prefix: an expert's form of LIKE 'prefix%' that uses the index.
        case .prefix: [terms.prefix, terms.prefix + "\u{10FFFF}"]
        case .contains: ["%\(terms.word)%"]
        case .dependents, .twoHops, .threeHops: [terms.needed]
        case .twoHopsFromHub: [terms.hub]
        case .manyDependents, .mostNeeded, .huge, .mostDepended: []
        case .largest, .largestByName: [terms.section]
        }
    }

    private func sql(_ question: PackageQuestion) -> String {
        let needed = "SELECT id FROM package WHERE name = ?"
        let one = "SELECT package FROM dependency WHERE needed IN (\(needed))"
        let two = "SELECT package FROM dependency WHERE needed IN (\(one))"
        let three = "SELECT package FROM dependency WHERE needed IN (\(two))"
        return switch question {
        case .name: "SELECT name FROM package WHERE name = ?"
        case .prefix: "SELECT name FROM package WHERE name >= ? AND name < ? ORDER BY name"
        case .contains: "SELECT CAST(count(*) AS TEXT) FROM package WHERE summary LIKE ?"
        case .dependents: "SELECT name FROM package WHERE id IN (\(one)) ORDER BY name"
        case .twoHops, .twoHopsFromHub:
            "SELECT name FROM package WHERE id IN (\(two)) ORDER BY name"
        case .threeHops: "SELECT name FROM package WHERE id IN (\(three)) ORDER BY name"
        case .manyDependents:
            """
            SELECT name FROM package WHERE id IN
                (SELECT needed FROM dependency GROUP BY needed HAVING count(*) > 1000)
            ORDER BY name
            """
        case .mostNeeded:
            """
            SELECT name FROM package
                JOIN (SELECT needed, count(*) AS count FROM dependency GROUP BY needed) ON needed = id
            ORDER BY count DESC, name LIMIT 10
            """
        case .largest:
            """
            SELECT name FROM package WHERE section = (SELECT id FROM section WHERE name = ?)
            ORDER BY size DESC, name DESC LIMIT 20
            """
        case .largestByName:
            """
            SELECT name FROM package WHERE section = (SELECT id FROM section WHERE name = ?)
            ORDER BY size DESC, name LIMIT 20
            """
        case .huge: "SELECT name FROM package WHERE size > 10000 ORDER BY name LIMIT 50"
        case .mostDepended:
            """
            SELECT package.name FROM package
                JOIN (SELECT needed, sum(size) AS total FROM dependency
                    JOIN package ON id = dependency.package GROUP BY needed) ON needed = id
            ORDER BY total DESC, package.name LIMIT 10
            """
        }
    }
}
