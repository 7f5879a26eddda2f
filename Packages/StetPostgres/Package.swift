// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "stet-postgres",
    products: [.library(name: "StetPostgres", targets: ["StetPostgres"])],
    dependencies: [.package(name: "stet", path: "../..")],
    targets: [
        .systemLibrary(
            name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "StetPostgres",
            dependencies: ["CLibpq", .product(name: "Stet", package: "stet")]),
        .testTarget(name: "StetPostgresTests", dependencies: ["StetPostgres"]),
    ]
)
