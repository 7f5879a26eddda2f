import StetCLI

/// The program `stet`, whose code is in StetCLI, which tests and other programs can import.
@main
enum StetTool {
    static func main() { Tool.run() }
}
