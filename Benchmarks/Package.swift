// swift-tools-version: 6.2
import PackageDescription

// Apart from the library, so that nobody who depends on Stet builds its benchmarks.
let package = Package(
    name: "stet-benchmarks",
    dependencies: [
        .package(name: "stet", path: "..")
    ],
    targets: [
        .systemLibrary(
            name: "CBenchLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
        // The floor: the same work in C on LMDB, without a library between.
        .target(name: "BareLMDB", dependencies: ["CBenchLMDB"]),
        .executableTarget(
            name: "slice",
            dependencies: ["BareLMDB", .product(name: "Stet", package: "stet")]
        ),
    ]
)
