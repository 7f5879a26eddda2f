import Testing

/// The errors of the compiler for the mistakes of newcomers: one for each, at its line, which says
/// what to write.
@Suite struct MistakeMessageTests {
    private typealias Error = CompiledProgram.Error

    private static let noAttribute =
        "does not conform to protocol '`RawAttribute, CodableAttribute, @Embedded or @Model`'"
    private static let toMany =
        "a relationship to many is a 'ToMany<Tag>' or 'OrderedToMany<Tag>', not an array"
    private static let unordered =
        "is unavailable: conform the enum to 'OrderedValue', and write its operator '<'"
    private static let fields =
        "write '\\.title' without the model: queries name the fields of 'Article.Fields'"
    private static let noCount =
        "'count' is unavailable: conditions don't count characters or elements: store the count in "
        + "a property"

    @Test("Service 12 a type that no model can store is named once, at the property")
    func typesOfProperties() throws {
        let program = try CompiledProgram(
            """
            import Stet
            struct Point { var x = 0 }
            enum Color: String { case red }
            @Model final class Tag {
                var name: String
                init(name: String) { self.name = name }
            }
            @Model final class Article {
                var point: Point = Point()
                var color: Color?
                var points: [Point] = []
                var tags: [Tag] = []
                var more: [Tag]? = nil
                @Attribute(.indexed)
                var owner: Tag
                var table: [String: Color] = [:]
                var isDraft: Bool = false
                init(owner: Tag) { self.owner = owner }
            }
            """)
        #expect(
            program.errors == [
                Error(9, "type 'Point' \(Self.noAttribute)"),
                Error(10, "type 'Color' \(Self.noAttribute)"),
                Error(11, "type 'Point' \(Self.noAttribute)"),
                Error(12, "'_List' is unavailable: \(Self.toMany)"),
                Error(13, "'_OptionalList' is unavailable: \(Self.toMany)"),
                Error(
                    15,
                    "'_IndexedAttribute' is unavailable: a relationship to one is optional: write "
                        + "'Owner?' for 'Owner'"),
                Error(16, "type 'Color' \(Self.noAttribute)"),
            ])
    }

    @Test("Service 12 what the text of a property shows is reported by the macro alone")
    func textsOfProperties() throws {
        let program = try CompiledProgram(
            """
            import Stet
            @Model final class Tag {
                var name: String
                init(name: String) { self.name = name }
            }
            @Model final class Article {
                var tags: Set<Tag> = []
                @Relationship(deleteRule: .cascade)
                var more: [Tag] = []
                @Relationship var owner: Tag
                @Attribute(.length(1...3)) var count: Int = 0
                @Attribute(.range(0...1), .trimmed) var isDraft: Bool = false
                var others: ToMany<Tag>?
                var untyped = 1
                init(owner: Tag) { self.owner = owner }
            }
            @Model final class Empty {
                var title: String
                var rating: Int = 0
                var note: String?
            }
            """)
        #expect(
            program.errors == [
                Error(
                    7,
                    "A model can't store a 'Set': write 'ToMany<Tag>' for the members of a "
                        + "relationship, or '[Tag]' for values"),
                Error(9, "A relationship to many is a 'ToMany<Tag>', or an 'OrderedToMany<Tag>'"),
                Error(10, "A relationship to one is optional: write 'Tag?'"),
                Error(
                    11,
                    "'.length' needs a String, Data, an array or a dictionary; 'count' is Int"),
                Error(12, "'.range' needs a number or a Date; 'isDraft' is Bool"),
                Error(12, "'.trimmed' needs a String; 'isDraft' is Bool"),
                Error(
                    13, "'others' can't be optional: a relationship without members is empty"),
                Error(14, "'untyped' needs an explicit type: write 'var untyped: …'"),
                Error(
                    17,
                    "'Empty' needs an initialiser: write 'init(title: String) "
                        + "{ self.title = title }'"),
            ])
    }

    @Test("Service 12 a superclass is refused in every form, and crashes no compiler")
    func superclasses() throws {
        let models = """
            import Stet
            class Base { var x = 0 }
            protocol Named: AnyObject { associatedtype Name; var name: Name { get } }
            @Model final class Plain: Base {
                var name: String = ""
                override init() {}
            }
            @Model final class Fine: Named, CustomStringConvertible {
                var name: String = ""
                var description: String { name }
                init() {}
            }
            """
        #expect(
            try CompiledProgram(models).errors == [
                Error(
                    4,
                    "no type for 'Model' can satisfy both 'Model : Base' and 'Model : "
                        + "_ModelWithoutSuperclass'")
            ])
        let options = ["", "(.observable)", "(.protected)", "(.observable, .protected)"]
        let bases = options.map { "@Model\($0) final class" } + ["@Model class"]
        for (base, child) in bases.flatMap({ base in options.map { (base, "@Model\($0)") } }) {
            let errors = try CompiledProgram(
                """
                import Stet
                \(base) Base {
                    var name: String = ""
                    init() {}
                }
                \(child) final class Child: Base {
                    var title: String = ""
                    override init() {}
                }
                """
            ).errors
            #expect(
                errors.contains(
                    Error(
                        6,
                        "A model can't inherit from a model: refer to one, as in "
                            + "'var base: Base?', or share a protocol")), "\(errors)")
            #expect(!errors.contains { $0.text.contains("Assertion failed") }, "\(errors)")
            let further = errors.filter { $0.line > 2 && !$0.text.hasPrefix("A model can't") }
            let known = [Error(6, "inheritance from a final class 'Base'")]
            #expect(further == (base.contains("final") ? known : []), "\(base) \(child)")
        }
    }

    @Test("Service 12 a class that is not final, or generic, causes no errors where it is used")
    func classesThatAreNoModels() throws {
        let program = try CompiledProgram(
            """
            import Stet
            @Model class Article {
                @Attribute(.unique) var title: String = ""
                var next: Article?
                var related: ToMany<Article>
                init() {}
            }
            func use(_ context: ManagedContext, _ article: Article) throws {
                _ = try context.fetch(Article.self) { $0.title == "x" }.sorted(by: \\.title).all()
                article.related = [article]
                context.delete(article)
                _ = article.snapshot.next
            }
            """)
        #expect(
            program.errors.filter { $0.line > 0 } == [
                Error(2, "@Model needs a final class: write 'final class Article'")
            ])
        let generic = try CompiledProgram(
            """
            import Stet
            @Model final class Box<T> {
                var title: String = ""
                init() {}
            }
            """)
        #expect(
            generic.errors == [
                Error(2, "@Model can't be generic: an entity has one set of properties")
            ])
    }

    @Test("Service 12 conditions offer what newcomers write, or say what to write")
    func conditions() throws {
        let program = try CompiledProgram(
            """
            import Stet
            enum Priority: Int, RawAttribute { case low, high }
            @Model final class Tag {
                var name: String
                init(name: String) { self.name = name }
            }
            @Model final class Item {
                var name: String = ""
                var note: String?
                var names: [String] = []
                var priority: Priority = .low
                var tags: ToMany<Tag>
                init() {}
            }
            func use(_ context: ManagedContext, _ id: ObjectID) throws {
                _ = try context.fetch(Item.self) { $0.priority >= .high }.all()
                _ = try context.fetch(Item.self) { $0.priority < .high }.all()
                _ = try context.fetch(Item.self) { $0.name.isEmpty && $0.note.isEmpty }.all()
                _ = try context.fetch(Item.self) { $0.names.isEmpty }.all()
                _ = try context.fetch(Item.self) { $0.name.count > 3 }.all()
                _ = try context.fetch(Item.self) { $0.name.lowercased() == "x" }.all()
                _ = try context.fetch(Item.self) { $0.tags.contains { $0.name == "x" } }.all()
                context.delete(id)
                _ = try context.fetch(Item.self).sorted(by: \\Item.name).all()
                _ = try context.fetch(Item.self).sorted(by: \\.name).then(by: \\Item.note).all()
            }
            """)
        #expect(
            program.errors == [
                Error(16, "'>=' \(Self.unordered)"),
                Error(17, "'<' \(Self.unordered)"),
                Error(20, Self.noCount),
                Error(
                    21,
                    "'lowercased()' is unavailable: write 'folded(.caseInsensitive)', which also "
                        + "folds the text on the other side"),
                Error(
                    23,
                    "'delete' is unavailable: delete the object, which "
                        + "'try context.object(Article.self, id: id)' returns"),
                Error(24, "'sorted(by:_:)' is unavailable: \(Self.fields)"),
                Error(25, "'then(by:_:)' is unavailable: \(Self.fields)"),
            ])
    }

    @Test(
        "Service bug 3 snapshots conform to protocols of others in any order of files",
        arguments: [["A.swift", "Models.swift"], ["Models.swift", "Z.swift"]])
    func snapshotsConform(names: [String]) throws {
        let models = """
            import Stet
            @Model final class User {
                var name: String
                @Relationship(inverse: \\Issue.assignee) var assigned: ToMany<Issue>
                init(name: String) { self.name = name }
            }
            @Model final class Issue {
                var title: String
                var assignee: User?
                init(title: String) { self.title = title }
            }
            """
        let conformances = """
            protocol Response: Encodable {}
            extension Issue.Snapshot: Response {}
            extension User.Snapshot: Response {}
            """
        let program = try CompiledProgram(
            files: names.map { ($0, $0 == "Models.swift" ? models : conformances) })
        #expect(program.errors == [])
    }
}
