public import StetStore

/// An error of Stet, of whichever type.
///
/// The types say more: which properties are not valid, who has changed what. A service that only
/// reports what failed needs none of them:
///
/// ```swift
/// } catch let error as any StetError {
///     logger.error("\(error)", metadata: ["code": "\(error.errorCode)"])
///     response.status = error.problem.status
///     response.body = try JSONEncoder().encode(error.problem)
/// }
/// ```
///
/// <doc:HandlingErrors> lists the codes.
public protocol StetError: Error, Sendable, CustomStringConvertible {
    /// The kind of the error, such as "store.diskFull"; later versions keep it, and may add others.
    var errorCode: String { get }
    /// The error for the client of a service, without values and paths.
    var problem: ProblemDetails { get }
}

extension StetError {
    fileprivate func problem(
        _ status: Int, _ title: String, _ detail: String? = nil,
        errors: [ProblemDetails.Problem] = []
    ) -> ProblemDetails {
        ProblemDetails(
            status: status, title: title, code: errorCode, detail: detail, errors: errors)
    }
}

extension StoreError: StetError {
    /// "store." and the code.
    public var errorCode: String { "store.\(code)" }

    /// The error with a general sentence: the message names the path of the store.
    public var problem: ProblemDetails {
        switch code {
        case .noSuchRevision: problem(404, "There is no such revision.")
        case .historyTrimmed, .erased, .largeDataMissing:
            problem(410, "The requested data was removed.")
        case .snapshotTooOld, .wrongStore, .commitIDInUse, .valueInUse, .alreadyExists:
            problem(409, "The request does not match the state of the store.")
        case .limitExceeded: problem(413, "The changes exceed a limit of the store.")
        case .mapFull, .diskFull: problem(507, "The store is full.")
        case .storeBusy, .storeClosed, .readersFull, .writtenElsewhere, .noThread,
            .journalUnavailable:
            problem(503, "The store cannot be used at the moment.")
        default: problem(500, "The store cannot be used.")
        }
    }
}

extension SealingError: StetError {
    /// "sealing." and the code.
    public var errorCode: String { "sealing.\(code)" }

    /// The error as a problem with the status 410, 503 or 500.
    public var problem: ProblemDetails {
        switch code {
        case .erased: problem(410, "The requested data was erased.")
        case .keyFileNotOpen, .providerFailed:
            problem(503, "The keys of sealed data cannot be used at the moment.")
        default: problem(500, "The sealed data cannot be used.")
        }
    }
}

extension SubscriptionError: StetError {
    /// "subscription." and the code.
    public var errorCode: String { "subscription.\(code)" }

    /// The error as a problem with the status 404, 409, 400 or 503.
    public var problem: ProblemDetails {
        switch code {
        case .notFound: problem(404, "There is no such subscription.")
        case .lost, .alreadyDecided: problem(409, "The delivery belongs to somebody else by now.")
        case .invalidName: problem(400, "The name of the subscription is not valid.")
        default: problem(503, "The subscription has stopped.")
        }
    }
}

extension QueryError: StetError {
    /// "query." and the code.
    public var errorCode: String { "query.\(code.rawValue)" }

    /// The error as a problem with the status 400, 422 or 504.
    public var problem: ProblemDetails {
        switch code {
        case .invalidCursor: problem(400, "The cursor does not belong to this query.")
        case .deadlineExceeded: problem(504, "The query took too long.")
        default: problem(422, "The query has no result.", message)
        }
    }
}

extension ValidationError: StetError {
    /// "validation"; each violation has a code of its own.
    public var errorCode: String { "validation" }
}

extension ChangeSetError: StetError {
    /// "changeSet".
    public var errorCode: String { "changeSet" }

    /// The mismatches as a problem with the status 422.
    public var problem: ProblemDetails {
        problem(
            422, "The changes do not match the models.", description,
            errors: problems.map { ProblemDetails.Problem($0, domain: errorCode) })
    }
}

extension ConflictError: StetError {
    /// "conflict." and the reason.
    public var errorCode: String { "conflict.\(reason.rawValue)" }

    /// The conflicts as a problem with the status 409, without values.
    public var problem: ProblemDetails {
        problem(
            409, "Others have changed the data.", description,
            errors: conflicts.flatMap { ProblemDetails.Problem.all(of: $0, domain: errorCode) })
    }
}

extension UndoConflictError: StetError {
    /// "undo.conflict".
    public var errorCode: String { "undo.conflict" }

    /// The conflicts as a problem with the status 409, without values.
    public var problem: ProblemDetails {
        problem(409, "Later commits prevent the undo.", description)
    }
}

extension NotConfirmedError: StetError {
    /// "notConfirmed".
    public var errorCode: String { "notConfirmed" }

    /// The error as a problem with the status 409.
    public var problem: ProblemDetails {
        problem(409, "The action was not confirmed.", description)
    }
}

extension UnknownOutcomeError: StetError {
    /// "unknownOutcome".
    public var errorCode: String { "unknownOutcome" }

    /// The error as a problem with the status 500.
    public var problem: ProblemDetails {
        problem(500, "It is not known whether the changes were saved.")
    }
}

extension DiscardedEditsError: StetError {
    /// "discardedEdits".
    public var errorCode: String { "discardedEdits" }

    /// The problem of the cause, with this error's code.
    public var problem: ProblemDetails {
        caused(by: cause, "The changes could not be saved.")
    }
}

extension InsertStreamError: StetError {
    /// "insertStream".
    public var errorCode: String { "insertStream" }

    /// The problem of the cause, with this error's code.
    public var problem: ProblemDetails {
        caused(by: cause, "The objects could not be inserted.")
    }
}

extension StetError {
    fileprivate func caused(by cause: any Error, _ title: String) -> ProblemDetails {
        guard var problem = (cause as? any StetError)?.problem else { return problem(500, title) }
        problem.code = errorCode
        return problem
    }
}

extension ProblemDetails.Problem {
    fileprivate init(_ problem: ChangeSetError.Problem, domain: String) {
        self.init(
            property: problem.property, detail: problem.message, domain: domain,
            entity: problem.entity, object: problem.object)
    }

    /// Returns the properties that are in conflict, or the object as a whole.
    fileprivate static func all(of conflict: Conflict, domain: String) -> [Self] {
        let contested = conflict.properties.filter(\.isContested)
        func problem(_ property: String?, _ detail: String) -> Self {
            Self(
                property: property, detail: detail, domain: domain, entity: conflict.entity,
                object: conflict.object)
        }
        return contested.isEmpty
            ? [problem(nil, conflict.description)]
            : contested.map { problem($0.property, $0.description) }
    }
}
