import FoundationEssentials
import Glibc

/// A package of an archive, before it is stored.
struct ListedPackage {
    var name: String
    var summary: String
    var section: Int
    /// The size in KiB.
    var size: Int
    /// The positions of the packages that it needs, in ascending order.
    var needs: [Int] = []
}

/// The packages of an archive, and the sections that they are in.
struct PackageList {
    private(set) var packages: [ListedPackage] = []
    private(set) var sections: [String] = []

    /// Makes as many packages, sections and dependencies as the index of Debian 12 has, about as
    /// unevenly distributed: few packages are needed by thousands of others.
    init(count: Int) {
        var random = SplitMix64(state: 20)
        let words = ["database", "library", "server", "tools", "data", "client", "graph", "text"]
        sections = (0..<60).map { "section \($0)" }
        packages = (0..<count).map { number in
            let name = number.isMultiple(of: 3) ? "lib" : ""
            let picked = (0..<7).map { _ in words[Int(random.next() % 8)] }
            return ListedPackage(
                name: "\(name)\(words[Int(random.next() % 8)])-\(number)",
                summary: "for \(number): \(picked.joined(separator: " "))",
                section: Int(Double(60) * random.fraction() * random.fraction()),
                size: Int(exp(12 * random.fraction())))
        }
        for number in packages.indices.dropFirst() {
            let needed = (0..<Int(random.next() % 9)).map { _ in
                Int(exp(log(Double(number)) * random.fraction())) - 1
            }
            packages[number].needs = Set(needed).sorted()
        }
    }

    /// Reads the index of an archive, a file `Packages`; each name counts once, and of alternative
    /// dependencies the first.
    init(path: String) throws {
        let data = try Data(contentsOf: URL(filePath: path))
        let text = String(decoding: data, as: UTF8.self)
        var needs: [String] = []
        var numbers: [String: Int] = [:]
        var sectionNumbers: [String: Int] = [:]
        for stanza in text.split(separator: "\n\n") {
            var fields: [Substring: Substring] = [:]
            for line in stanza.split(separator: "\n") where !line.hasPrefix(" ") {
                guard let colon = line.firstIndex(of: ":") else { continue }
                fields[line[..<colon]] = line[colon...].dropFirst(2)
            }
            guard let name = fields["Package"], numbers[String(name)] == nil else { continue }
            let section = String(fields["Section"] ?? "none")
            let number = sectionNumbers[section] ?? sections.count
            if number == sections.count {
                sections.append(section)
                sectionNumbers[section] = number
            }
            numbers[String(name)] = packages.count
            packages.append(
                ListedPackage(
                    name: String(name), summary: String(fields["Description"] ?? ""),
                    section: number, size: fields["Installed-Size"].flatMap { Int($0) } ?? 0))
            needs.append(String(fields["Depends"] ?? ""))
        }
        for (number, needed) in needs.enumerated() {
            let names = needed.split(separator: ",").compactMap {
                $0.split { " :(|".contains($0) }.first
            }
            packages[number].needs = Set(names.compactMap { numbers[String($0)] })
                .subtracting([number]).sorted()
        }
    }

    /// The number of packages that need each package.
    var dependentCounts: [Int] {
        var counts = [Int](repeating: 0, count: packages.count)
        for package in packages { for needed in package.needs { counts[needed] += 1 } }
        return counts
    }

    /// Returns the names of the packages whose number of dependents is closest to one.
    func names(neededBy count: Int, limit: Int) -> [String] {
        let counts = dependentCounts
        return packages.indices.sorted { abs(counts[$0] - count) < abs(counts[$1] - count) }
            .prefix(limit).map { packages[$0].name }
    }
}

extension SplitMix64 {
    /// Returns a number from 0 to below 1.
    fileprivate mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }
}
