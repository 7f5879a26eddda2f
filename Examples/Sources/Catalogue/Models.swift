import Stet

/// An installed package.
@Model final class Package {
    @Attribute(.trimmed, .notEmpty, .length(...200), .indexed) var name: String
    @Attribute(.trimmed, .notEmpty, .length(...200)) var version: String
    @Attribute(.notEmpty, .length(...50)) var architecture: String
    /// The size in KiB; nil if the package does not state it.
    @Attribute(.range(0...1_000_000_000)) var installedSize: Int?
    @Attribute(.trimmed, .length(...400)) var summary: String
    var essential: Bool = false
    var section: Section?
    var maintainer: Maintainer?
    /// The packages that it needs: each once, and at most 1,000.
    @Relationship(.count(0...1_000), inverse: \Package.dependents)
    var dependencies: ToMany<Package>
    /// The packages that need it: as long as there are any, it cannot be removed.
    @Relationship(deleteRule: .deny) var dependents: ToMany<Package>

    init(name: String, version: String, architecture: String, summary: String = "") {
        self.name = name
        self.version = version
        self.architecture = architecture
        self.summary = summary
    }

    static var validators: Validators<Package> {
        Validators { validation in
            if validation.operation == .delete, validation.old?.essential == true {
                validation.report("an essential package can't be removed")
            }
        }
    }
}

/// A person or group that maintains packages.
@Model final class Maintainer {
    @Attribute(.trimmed, .notEmpty, .length(...400)) var name: String
    @Attribute(.length(1...400)) var email: String?

    init(name: String, email: String?) {
        self.name = name
        self.email = email
    }
}

/// A part of the archive, such as "libs".
@Model final class Section {
    @Attribute(.trimmed, .notEmpty, .length(...100)) var name: String

    init(name: String) { self.name = name }
}

/// Every model of the catalogue.
let catalogueModels: [any Model.Type] = [Package.self, Maintainer.self, Section.self]
