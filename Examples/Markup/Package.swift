// swift-tools-version: 6.2
import PackageDescription

// What the tracker and the inspector have in common.
let package = Package(
    name: "stet-markup",
    products: [.library(name: "Markup", targets: ["Markup"])],
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1")
    ],
    targets: [
        .target(
            name: "Markup",
            dependencies: [.product(name: "Hummingbird", package: "hummingbird")])
    ]
)
