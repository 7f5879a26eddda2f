// swift-tools-version: 6.2
import PackageDescription

// The peer of Examples/Tracker: three of its requests over GRDB.
let package = Package(
    name: "stet-bench-service",
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    ],
    targets: [
        .executableTarget(
            name: "service-grdb",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ])
    ]
)
