import StetCLI

/// The program `stet`, whose code is in StetCLI, which tests can import.
@main
enum StetTool {
    static func main() { Tool.run() }
}
