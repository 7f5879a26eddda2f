/// The names of the built-in codes.
extension Violation.Code: CustomStringConvertible {
    /// The name of a built-in code such as "tooShort", or the domain and the number of your own.
    public var description: String {
        switch self {
        case .custom: "custom"
        case .notUnique: "notUnique"
        case .several: "several"
        case .required: "required"
        case .tooFew: "tooFew"
        case .tooMany: "tooMany"
        case .deleteDenied: "deleteDenied"
        case .tooLarge: "tooLarge"
        case .tooSmall: "tooSmall"
        case .tooLate: "tooLate"
        case .tooEarly: "tooEarly"
        case .invalidDate: "invalidDate"
        case .tooLong: "tooLong"
        case .tooShort: "tooShort"
        case .wrongPattern: "wrongPattern"
        case .foreignObject: "foreignObject"
        case .deletedObjectEdited: "deletedObjectEdited"
        case .unsettled: "unsettled"
        case .editedDuringCommit: "editedDuringCommit"
        case .editedDuringFetch: "editedDuringFetch"
        case .unstorable: "unstorable"
        case .notOneOf: "notOneOf"
        case .unconfirmedDeletion: "unconfirmedDeletion"
        case .unsealable: "unsealable"
        default: "\(domain) \(number)"
        }
    }
}
