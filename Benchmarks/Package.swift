// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that dependents of Stet do not build its benchmarks.
let package = Package(
    name: "stet-benchmarks",
    dependencies: [
        .package(name: "stet", path: ".."),
        // A peer. The version is exact, because the goals refer to it.
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CBenchLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
        // The floor: the same work in C, directly on LMDB.
        .target(name: "BareLMDB", dependencies: ["CBenchLMDB"]),
        .executableTarget(
            name: "stet-bench",
            dependencies: [
                "BareLMDB", .product(name: "Stet", package: "stet"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            // Programs are not Sendable, so asynchronous work stays in its caller's isolation.
            swiftSettings: [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
        ),
    ]
)
