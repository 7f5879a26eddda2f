import Hummingbird
import Markup
import Stet

/// The projects, and who is looking at them.
struct HomePage {
    var projects: [Project.Snapshot]
    var people: [User.Snapshot]
    var user: User.Snapshot?
    var newPerson = Form()
    var newProject = Form()

    init(_ store: Store, user: User.Snapshot?) throws {
        projects = try store.fetch(Project.self).sorted(by: \.name).all()
        people = try store.fetch(User.self).sorted(by: \.name).all()
        self.user = user
    }

    var html: HTML {
        """
        <h1>Projects</h1>
        \(projects.isEmpty ? "<p class=\"empty\">There is no project yet.</p>" : list)
        <div class="columns">
        <section aria-labelledby="person">
        <h2 id="person">\(user == nil ? "Who are you?" : "You")</h2>
        \(signIn)
        \(personForm)
        </section>
        \(user == nil ? nil : projectForm)
        </div>
        """
    }

    private var list: HTML {
        let items = projects.map { project -> HTML in
            """
            <li><a href="/projects/\(project.key)"><bdi>\(project.name)</bdi></a>
            <span class="key">\(project.key)</span></li>
            """
        }
        return "<ul class=\"projects\">\(items)</ul>"
    }

    private var signIn: HTML? {
        guard !people.isEmpty else { return nil }
        var form = Form()
        form.texts["user"] = user?.id.description ?? ""
        let options = people.map { (value: $0.id.description, caption: $0.name) }
        return """
            <form method="post" action="/session">
            \(form.choice("user", "Edit as", options))
            <button>\(user == nil ? "Sign in" : "Change")</button>
            </form>
            """
    }

    private var personForm: HTML {
        """
        <details\("open", if: people.isEmpty || !newPerson.errors.isEmpty)>
        <summary>Somebody new</summary>
        <form method="post" action="/people" novalidate>
        \(newPerson.summary("The person was not added.", captions: Self.personCaptions))
        \(newPerson.text("name", "Name"))
        \(newPerson.text("email", "E-mail", type: "email"))
        <button>Add the person</button>
        </form>
        </details>
        """
    }

    private var projectForm: HTML {
        """
        <section aria-labelledby="new-project">
        <h2 id="new-project">New project</h2>
        <form method="post" action="/projects" novalidate>
        \(newProject.summary("The project was not added.", captions: Self.projectCaptions))
        \(newProject.text("project-name", "Name"))
        \(newProject.text("key", "Key", hint: "Two to eight capital letters and digits, such as ST."))
        <button>Add the project</button>
        </form>
        </section>
        """
    }

    static let personCaptions = [(name: "name", caption: "Name"), ("email", "E-mail")]
    static let projectCaptions = [(name: "project-name", caption: "Name"), ("key", "Key")]
}
