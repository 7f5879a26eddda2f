package import Tracing

/// The spans that a store records in the tracing system of the process.
///
/// - `stet.save`: a save, from its call to its outcome, with these parts:
///   - `stet.save.prepare`: normalisation, delete rules, hooks, validation, encoding; once for each
///     attempt
///   - `stet.save.settle`: in it, normalisation, delete rules and `willSave`
///   - `stet.save.validate`: in it, rules, unique values, counts and validators
///   - `stet.save.commit`: the wait for the writer and the disk
/// - `stet.query`: one read of a query; attribute `stet.entity`
/// - `stet.migrate`: a migration, light or staged
/// - `stet.checkpoint`: a checkpoint of a log
///
/// Spans have no values of objects. Without a tracing system, each costs a comparison with nil.
package struct StoreTracer: Sendable {
    /// The tracer; nil where the process has set up none.
    private let tracer: (any Tracer)?

    package init(_ tracer: any Tracer) {
        self.tracer = tracer is NoOpTracer ? nil : tracer
    }

    /// Runs a closure in a span.
    @inline(__always)
    package func span<Result>(
        _ name: String, entity: @autoclosure () -> String? = nil, _ body: () throws -> Result
    ) rethrows -> Result {
        guard let tracer else { return try body() }
        return try tracer.withAnySpan(name) { span in
            if let entity = entity() { span.attributes["stet.entity"] = entity }
            return try body()
        }
    }

    /// Begins a span that ends with a call of `end`; nil without a tracing system.
    package func begin(_ name: String) -> StoreSpan? {
        tracer.map { StoreSpan(tracer: $0, name, .current ?? .topLevel) }
    }
}

/// A span that is open beyond one call.
package struct StoreSpan: Sendable {
    private let tracer: any Tracer
    private let span: any Span

    fileprivate init(tracer: any Tracer, _ name: String, _ context: ServiceContext) {
        self.tracer = tracer
        span = tracer.startAnySpan(name, context: context)
    }

    /// Begins a part of the span.
    package func begin(_ name: String) -> StoreSpan {
        StoreSpan(tracer: tracer, name, span.context)
    }

    /// Runs a closure whose spans are parts of this one.
    package func within<Result>(_ body: () throws -> Result) rethrows -> Result {
        try ServiceContext.$current.withValue(span.context, operation: body)
    }

    /// Ends the span, with the error of what it spans.
    package func end(_ error: (any Error)? = nil) {
        if let error { span.recordError(error) }
        span.end()
    }
}
