// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "stet-postgres",
    products: [
        .library(name: "StetPostgres", targets: ["StetPostgres"]),
        .executable(name: "stet-postgres", targets: ["StetPostgresTool"]),
    ],
    dependencies: [.package(name: "stet", path: "../..")],
    targets: [
        .systemLibrary(
            name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "StetPostgres",
            dependencies: ["CLibpq", .product(name: "Stet", package: "stet")]),
        .executableTarget(
            name: "StetPostgresTool",
            dependencies: [
                "StetPostgres", .product(name: "Stet", package: "stet"),
                .product(name: "StetCLI", package: "stet"),
                .product(name: "StetStemming", package: "stet"),
            ]),
        .target(
            name: "StetMachines",
            dependencies: [.product(name: "Stet", package: "stet")], path: "Tests/StetMachines"),
        .executableTarget(
            name: "stet-machines", dependencies: ["StetMachines", "StetPostgres"],
            path: "Tests/StetMachinesTool"),
        .executableTarget(
            name: "stet-nodes", dependencies: ["CLibpq", "StetMachines", "StetPostgres"],
            path: "Benchmarks"),
        .testTarget(
            name: "StetPostgresTests",
            dependencies: ["StetMachines", "StetPostgres", "StetPostgresTool"]),
    ]
)
