//! A reusable list of (name, value) pairs in one buffer: arguments, cookies, file names, part headers.

/// Where a name or value lies in the buffer of its [`Fields`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slice {
    start: usize,
    end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    name: Slice,
    value: Slice,
}

/// (name, value) pairs in order of arrival, repeats kept. Clearing keeps the memory, so that a scratch that has warmed
/// up allocates nothing.
#[derive(Clone, Default, Debug)]
pub struct Fields {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl Fields {
    /// Forgets all pairs, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a pair.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.push_with(|bytes| bytes.extend_from_slice(name), |bytes| bytes.extend_from_slice(value));
    }

    /// Adds a pair whose name and value are appended to the buffer by the two functions, so that decoding needs no
    /// buffer in between. They must only append.
    pub fn push_with(&mut self, name: impl FnOnce(&mut Vec<u8>), value: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        name(&mut self.bytes);
        let middle = self.bytes.len().max(start);
        value(&mut self.bytes);
        let end = self.bytes.len().max(middle);
        self.entries.push(Entry { name: Slice { start, end: middle }, value: Slice { start: middle, end } });
    }

    /// The pair at `index`.
    pub fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        self.entries.get(index).map(|entry| (self.slice(entry.name), self.slice(entry.value)))
    }

    /// The pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries.iter().map(|entry| (self.slice(entry.name), self.slice(entry.value)))
    }

    /// The sum of the lengths of all names and values, in bytes.
    pub fn combined_size(&self) -> usize {
        self.entries.iter().map(|entry| entry.value.end - entry.name.start).sum()
    }

    fn slice(&self, slice: Slice) -> &[u8] {
        self.bytes.get(slice.start..slice.end).unwrap_or_default()
    }
}
