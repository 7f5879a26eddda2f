extension Collection where Index == Int {
    /// Returns the indices of a longest subsequence of elements whose keys ascend.
    ///
    /// - Parameter key: Returns the key of an element; nil for an element that belongs to no run.
    /// - Returns: The indices, in descending order.
    /// - Complexity: O(count · log count).
    package func longestAscendingRun<Key: Comparable>(
        by key: (Element) -> Key?
    ) -> [Index] {
        // For each length, the end of the run with the lowest key; for each index, its predecessor.
        var ends: [(key: Key, index: Index)] = []
        var previous = [Index?](repeating: nil, count: count)
        for (offset, index) in indices.enumerated() {
            guard let key = key(self[index]) else { continue }
            let length = ends.partitionPoint { $0.key < key }
            previous[offset] = length == 0 ? nil : ends[length - 1].index
            if length == ends.count {
                ends.append((key, index))
            } else {
                ends[length] = (key, index)
            }
        }
        var run: [Index] = []
        var next = ends.last?.index
        while let index = next {
            run.append(index)
            next = previous[index - startIndex]
        }
        return run
    }
}
