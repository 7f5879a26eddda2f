// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "stet-browse",
    dependencies: [
        .package(name: "stet", path: "../.."),
        .package(name: "stet-markup", path: "../Markup"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.0"),
    ],
    targets: [
        .executableTarget(
            name: "stet-browse",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Markup", package: "stet-markup"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                // The tool, which the inspector runs: it is built beside it.
                .product(name: "stet", package: "stet"),
            ],
            resources: [.copy("Public")]
        )
    ]
)
