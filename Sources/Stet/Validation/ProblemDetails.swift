public import StetStore

/// The problems of a request, as `application/problem+json` of RFC 9457.
///
/// ```json
/// {
///   "type": "about:blank",
///   "title": "The changes are not valid.",
///   "status": 422,
///   "code": "validation",
///   "detail": "title must be at most 25 characters",
///   "errors": [
///     {
///       "pointer": "#/title",
///       "detail": "title must be at most 25 characters",
///       "code": 1660,
///       "domain": "Stet",
///       "entity": "Article",
///       "object": "0196f3d2-7c2e-7b53-9d4e-0f1c2a3b4d5e"
///     }
///   ]
/// }
/// ```
///
/// Each ``StetError`` has one. It shows no values and no paths. Members without a value are left
/// out. The names of the members are stable.
public struct ProblemDetails: Sendable, Hashable, Codable {
    /// One problem of a request.
    public struct Problem: Sendable, Hashable, Codable {
        /// The property as a JSON Pointer, "#/title"; nil for the object as a whole.
        public var pointer: String?
        /// The problem, as a sentence for people.
        public var detail: String
        /// The reason for the rule; nil when none was given.
        public var reason: String?
        /// The number of the violation's code; 0 when it is not a violation.
        public var code: Int
        /// The origin of the code: "Stet", or the application; for other problems than violations
        /// the error's ``ProblemDetails/code``.
        public var domain: String
        /// The model.
        public var entity: String
        /// The object; nil when there is none.
        public var object: ObjectID?
    }

    /// A URI of the kind of problem; "about:blank" unless the application sets one.
    public var type = "about:blank"
    /// The kind of problem, the same for each request.
    public var title: String
    /// The status code of HTTP.
    public var status: Int
    /// The ``StetError/errorCode`` of the error.
    public var code: String
    /// The problems of this request, for people, one on each line.
    public var detail: String
    /// A URI of this request; nil unless the application sets one.
    public var instance: String?
    /// All violations, mismatches of a change set, or properties in conflict, in their order;
    /// empty for other errors.
    public var errors: [Problem]

    /// Creates a problem of the application.
    ///
    /// RFC 9457 allows further members. A type that encodes itself and then its own members into
    /// the same encoder has them beside those of the problem:
    ///
    /// ```swift
    /// struct StaleEdit: Encodable {
    ///     var problem: ProblemDetails
    ///     var conflict: Conflict
    ///
    ///     func encode(to encoder: any Encoder) throws {
    ///         try problem.encode(to: encoder)
    ///         var container = encoder.container(keyedBy: CodingKeys.self)
    ///         try container.encode(conflict, forKey: .conflict)
    ///     }
    ///
    ///     private enum CodingKeys: String, CodingKey { case conflict }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - status: the status code of HTTP.
    ///   - title: the kind of problem, the same for each request.
    ///   - code: a code of the application.
    ///   - detail: the problem of this request; defaults to the title.
    ///   - errors: the single problems.
    public init(
        status: Int, title: String, code: String, detail: String? = nil, errors: [Problem] = []
    ) {
        self.title = title
        self.status = status
        self.code = code
        self.detail = detail ?? title
        self.errors = errors
    }
}

extension ValidationError {
    /// The violations as `application/problem+json` with the status 422.
    ///
    /// ```swift
    /// } catch let error as ValidationError {
    ///     response.status = error.problem.status
    ///     response.body = try JSONEncoder().encode(error.problem)
    /// }
    /// ```
    public var problem: ProblemDetails { problem(description, \.message, \.failureReason) }

    /// Returns the violations as `application/problem+json` in another language than that of the
    /// store's configuration.
    public func problem(in messages: MessageTable) -> ProblemDetails {
        problem(description(in: messages)) {
            $0.message(in: messages)
        } _: {
            $0.failureReason(in: messages)
        }
    }

    private func problem(
        _ detail: String, _ message: (Violation) -> String, _ reason: (Violation) -> String?
    ) -> ProblemDetails {
        ProblemDetails(
            status: 422, title: "The changes are not valid.", code: errorCode, detail: detail,
            errors: violations.map { violation in
                ProblemDetails.Problem(
                    property: violation.property, detail: message(violation),
                    reason: reason(violation), code: violation.code.number,
                    domain: violation.code.domain, entity: violation.entity,
                    object: violation.object)
            })
    }
}

extension ProblemDetails.Problem {
    init(
        property: String?, detail: String, reason: String? = nil, code: Int = 0, domain: String,
        entity: String, object: ObjectID?
    ) {
        self.init(
            pointer: property.map { "#/\(Self.escaped($0))" }, detail: detail, reason: reason,
            code: code, domain: domain, entity: entity, object: object)
    }

    /// A name within a JSON Pointer (RFC 6901).
    private static func escaped(_ name: String) -> String {
        name.replacing("~", with: "~0").replacing("/", with: "~1")
    }
}
