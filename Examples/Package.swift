// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "stet-examples",
    dependencies: [
        .package(name: "stet", path: "..")
    ],
    targets: [
        .executableTarget(
            name: "catalogue",
            dependencies: [.product(name: "Stet", package: "stet")],
            path: "Sources/Catalogue",
            resources: [.copy("status-excerpt")]
        ),
        .testTarget(name: "CatalogueTests", dependencies: ["catalogue"]),
    ]
)
