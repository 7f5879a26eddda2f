// swift-tools-version: 6.2
import PackageDescription

// Apart from the library, so that nobody who depends on Stet builds its benchmarks.
let package = Package(
    name: "stet-benchmarks",
    dependencies: [
        .package(name: "stet", path: ".."),
        // A peer; exact, because the goals were set against this version.
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CBenchLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
        // The floor: the same work in C on LMDB, without a library between.
        .target(name: "BareLMDB", dependencies: ["CBenchLMDB"]),
        .executableTarget(
            name: "stet-bench",
            dependencies: [
                "BareLMDB", .product(name: "Stet", package: "stet"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            // Programs are not Sendable; asynchronous work stays where it was begun.
            swiftSettings: [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
        ),
    ]
)
