import Markup
import Stet

extension HTML.StringInterpolation {
    mutating func appendInterpolation(_ revision: Revision) {
        appendInterpolation(revision.number)
    }
}
