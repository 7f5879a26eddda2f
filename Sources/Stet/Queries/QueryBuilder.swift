/// Combines the conditions in the closure of a query: there may be several, one per line, all of
/// which an object must satisfy, and `if` around some of them.
///
/// The condition of an `if` is evaluated by the program, not for each object.
@resultBuilder
public enum QueryBuilder {
    /// Returns a condition unchanged.
    public static func buildExpression(
        _ condition: QueryExpression<Bool>
    ) -> QueryExpression<Bool> { condition }

    /// Returns a condition behind a `?`; an object without a value there does not satisfy it.
    public static func buildExpression(
        _ condition: QueryExpression<Bool>?
    ) -> QueryExpression<Bool> { condition ?? !QueryExpression.always }

    /// Combines conditions that must all be satisfied.
    public static func buildBlock(
        _ conditions: QueryExpression<Bool>...
    ) -> QueryExpression<Bool> {
        conditions.dropFirst().reduce(conditions.first ?? .always) { $0 && $1 }
    }

    /// Returns the conditions of an `if` without `else`, which are always satisfied when the branch
    /// is not taken.
    public static func buildOptional(
        _ condition: QueryExpression<Bool>?
    ) -> QueryExpression<Bool> { condition ?? .always }

    /// Returns the conditions of an `if` branch.
    public static func buildEither(
        first condition: QueryExpression<Bool>
    ) -> QueryExpression<Bool> { condition }

    /// Returns the conditions of an `else` branch.
    public static func buildEither(
        second condition: QueryExpression<Bool>
    ) -> QueryExpression<Bool> { condition }

    /// Combines the conditions of a loop, which must all be satisfied.
    public static func buildArray(
        _ conditions: [QueryExpression<Bool>]
    ) -> QueryExpression<Bool> { conditions.reduce(.always) { $0 && $1 } }
}
