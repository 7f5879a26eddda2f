// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

// Switches for people who work on Stet itself; a package that depends on Stet sets none of them.
/// Returns whether a variable of the environment has a value other than the empty one.
func isSet(_ name: String) -> Bool { Context.environment[name].map { !$0.isEmpty } ?? false }

let warningsAreErrors = isSet("STET_WERROR")
let faultsAreCompiledIn = isSet("STET_FAULTS")
let isForFuzzing = isSet("STET_FUZZ")
// Each dependency is taken in its lowest version, which CI builds, too.
let usesLowestVersions = isSet("STET_LOWEST")
let testsMacros = isSet("STET_TEST_MACROS")
let isOptimised = isSet("STET_OPTIMISED")
let readsSourcesOnly = isSet("STET_SOURCES")

/// A dependency within one major version.
func dependency(_ url: String, from lowest: Version) -> Package.Dependency {
    usesLowestVersions ? .package(url: url, exact: lowest) : .package(url: url, from: lowest)
}

let package = Package(
    name: "stet",
    products: [
        .library(name: "Stet", targets: ["Stet"]),
        .library(name: "StetServiceLifecycle", targets: ["StetServiceLifecycle"]),
        .library(name: "StetStemming", targets: ["StetStemming"]),
        .library(name: "StetTesting", targets: ["StetTesting"]),
        .library(name: "StetCLI", targets: ["StetCLI"]),
        .executable(name: "stet", targets: ["StetTool"]),
        .library(name: "StetRecorder", type: .dynamic, targets: ["CStetRecorder"]),
    ],
    dependencies: [
        dependency("https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        dependency("https://github.com/apple/swift-async-algorithms", from: "1.0.0"),
        dependency("https://github.com/apple/swift-collections", from: "1.1.0"),
        dependency("https://github.com/apple/swift-crypto", from: "4.0.0"),
        dependency("https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        dependency("https://github.com/apple/swift-log", from: "1.6.0"),
        dependency("https://github.com/apple/swift-metrics", from: "2.5.0"),
        dependency("https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
        dependency("https://github.com/swiftlang/swift-syntax", from: "603.0.0"),
    ],
    targets: [
        .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
        .target(name: "StetLMDB", dependencies: ["CLMDB"]),
        .target(
            name: "StetStore",
            dependencies: [
                "StetLMDB",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]
        ),
        .macro(
            name: "StetMacros",
            dependencies: [
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
                .product(name: "SwiftCompilerPlugin", package: "swift-syntax"),
            ]
        ),
        .target(
            name: "Stet",
            dependencies: [
                "StetStore", "StetMacros",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]
        ),
        // A separate target, so that other packages do not build the service lifecycle.
        .target(
            name: "StetServiceLifecycle",
            dependencies: [
                "Stet", .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        // A separate target, so that programs that do not stem words need no libstemmer.
        .systemLibrary(name: "CStemmer", providers: [.apt(["libstemmer-dev"])]),
        .target(name: "StetStemming", dependencies: ["StetStore", "CStemmer"]),
        // For the tests of applications: imports Swift Testing.
        .target(name: "StetTesting", dependencies: ["Stet", "StetStore"]),
        // The tool `stet`, which needs no models: a library with its commands, and the program.
        .executableTarget(name: "StetTool", dependencies: ["StetCLI", "StetStemming"]),
        .target(
            name: "StetCLI",
            dependencies: [
                "StetStore",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),

        // Records what a process writes and syncs, by interposition; see Tests/CStetRecorder.
        .target(name: "CStetRecorder", path: "Tests/CStetRecorder"),
        .target(name: "StetTestSupport", path: "Tests/StetTestSupport"),
        .target(
            name: "StetTestModels",
            dependencies: ["Stet", "StetTestSupport"],
            path: "Tests/StetTestModels"
        ),
        .target(name: "CStetFork", path: "Tests/CStetFork"),
        .target(name: "CStetTrace", path: "Tests/CStetTrace"),
        .executableTarget(
            name: "stet-test-child",
            dependencies: ["Stet", "StetStore", "StetLMDB", "StetTestModels", "CStetFork"],
            path: "Tests/StetTestChild"
        ),
        // The fault campaigns, as one optimised program; see CONTRIBUTING.md.
        .executableTarget(
            name: "stet-campaign",
            dependencies: [
                "Stet", "StetStore", "StetLMDB", "StetTestSupport", "StetTestModels", "CStetFork",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/StetCampaign"
        ),
        // The library compared with a reference of its whole contract, and the program for large
        // runs.
        .target(
            name: "StetContract",
            dependencies: [
                "Stet", "StetStore", "StetLMDB", "StetTestSupport",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/StetContract"),
        .executableTarget(
            name: "stet-contract", dependencies: ["StetContract"], path: "Tests/StetContractTool"),
        // Random live queries compared with queries that run again, and the program for large runs.
        .target(
            name: "StetLiveOracle", dependencies: ["Stet", "StetStore", "StetTestSupport"],
            path: "Tests/StetLiveOracle"),
        .executableTarget(
            name: "stet-live", dependencies: ["StetLiveOracle"], path: "Tests/StetLiveTool"),
        // Counts of instructions and sizes, which hardly vary.
        .executableTarget(
            name: "stet-counts",
            dependencies: [
                "Stet", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], path: "Tests/StetCounts"),
        // The code of the README, word for word.
        .executableTarget(
            name: "stet-readme", dependencies: ["Stet"], path: "Tests/StetReadme"),
        // The decoders as the fuzzer calls them, and as the test of its corpora does.
        .target(
            name: "StetFuzzing", dependencies: ["StetStore", "StetLMDB", "StetTestSupport"],
            path: "Tests/StetFuzzing"),
        .testTarget(name: "StetLMDBTests", dependencies: ["StetLMDB", "StetTestSupport"]),
        .testTarget(
            name: "StetStoreTests",
            dependencies: ["StetStore", "StetLMDB", "StetTestSupport", "StetFuzzing"],
            resources: [.copy("Resources")]
        ),
        .testTarget(
            name: "StetMacrosTests",
            dependencies: [
                "StetMacros",
                .product(name: "SwiftSyntaxMacrosGenericTestSupport", package: "swift-syntax"),
            ]
        ),
        .testTarget(
            name: "StetTests",
            dependencies: [
                "Stet", "StetServiceLifecycle", "StetStemming", "StetTesting", "StetStore",
                "StetLMDB", "StetTestModels", "StetTestSupport", "StetContract", "StetLiveOracle",
                "stet-test-child", "CStetTrace",
                .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]
        ),
        .testTarget(
            name: "StetCLITests",
            dependencies: [
                "StetCLI", "StetTool", "StetStemming", "StetStore", "StetLMDB", "StetTestSupport",
            ]
        ),
        // The code of the pages in Sources/Stet/Stet.docc; imports what a user imports.
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "Stet", "StetStemming", "StetTesting", "StetTestModels", "StetTestSupport",
            ]),
        .testTarget(
            name: "SourceTests",
            dependencies: ["Stet", "StetStore", "StetTestSupport", "stet-readme"]),
    ]
)

// Tests of macros make SwiftPM build every test and its dependencies for the host as well, so they
// have a separate run.
package.targets.removeAll { $0.type == .test && ($0.name == "StetMacrosTests") != testsMacros }
if readsSourcesOnly {
    // The rules for sources, without building what they are about.
    package.products = []
    package.dependencies = []
    package.targets = [
        .testTarget(name: "SourceTests", exclude: ["ErrorPageTests.swift", "ReadmeTests.swift"])
    ]
}
if isOptimised {
    // Stet as a service is built, with the tests of the library and the campaigns as they are. Of the
    // packages that Stet depends on, swift-syntax alone would take longer to optimise than all of
    // Stet. Without optimisation across modules, in which Swift 6.3.1 crashes where testing is
    // enabled.
    let tests = ["StetLMDBTests", "StetStoreTests", "StetTests"]
    package.targets.removeAll { $0.type == .test && !tests.contains($0.name) }
    for target in package.targets where [.regular, .executable].contains(target.type) {
        target.swiftSettings = [
            .unsafeFlags(["-O", "-whole-module-optimization", "-num-threads", "2", "-disable-cmo"]),
            .define("STET_OPTIMISED"),
        ]
    }
}

if isForFuzzing {
    // The fuzzer observes every branch and every access to memory.
    let flags = ["-sanitize=fuzzer,address"]
    for target in package.targets
    where ["StetLMDB", "StetStore", "StetFuzzing"].contains(target.name) {
        target.swiftSettings = [.unsafeFlags(flags)]
    }
    package.targets += [
        .systemLibrary(name: "CLibFuzzer", path: "Tests/CLibFuzzer"),
        .executableTarget(
            name: "stet-fuzz", dependencies: ["StetFuzzing", "CLibFuzzer"], path: "Tests/StetFuzz",
            exclude: ["Corpus"], swiftSettings: [.unsafeFlags(flags)],
            // Other linkers on Linux do not find the fuzzer's library.
            linkerSettings: [.unsafeFlags(flags + ["-use-ld=lld"])]),
    ]
}

for target in package.targets where ![.system, .plugin].contains(target.type) {
    var settings = target.swiftSettings ?? []
    settings += [
        // `any` is written where a value is boxed, so that its cost can be seen.
        .enableUpcomingFeature("ExistentialAny"),
        // A file that uses a member imports its module: the layering stays readable.
        .enableUpcomingFeature("MemberImportVisibility"),
        // An import is an implementation detail unless it says otherwise.
        .enableUpcomingFeature("InternalImportsByDefault"),
    ]
    if warningsAreErrors {
        // In continuous integration only, so that a new compiler's warnings never break a dependent.
        settings.append(.treatAllWarnings(as: .error))
    }
    if faultsAreCompiledIn {
        // Calls that fail on request, for the tests of failures.
        settings.append(.define("STET_FAULTS"))
    }
    target.swiftSettings = settings
}
