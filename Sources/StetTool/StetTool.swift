import StetCLI

/// The program `stet`; all of it is in StetCLI, which tests can import.
@main
enum StetTool {
    static func main() { Tool.run() }
}
