import StetCLI
import StetStemming
import StetStore

/// The program `stet`, whose code is in StetCLI, which tests and other programs can import.
@main
enum StetTool {
    static func main() {
        // Stores are opened without their models: the stemmers of their languages must be known.
        _ = TextLanguage.snowball
        Tool.run()
    }
}
