//! Where rule text comes from: numbered files, byte-exact, read through a [`Loader`].

use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of a source file within one [`Sources`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub u32);

/// A place in a source file, in physical lines, before continuations are joined.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The line of the first byte, from 1.
    pub line: u32,
    /// The column of the first byte, in bytes, from 1.
    pub column: u32,
    /// The length in bytes on the first physical line; at least 1.
    pub len: u32,
}

/// A value and the place it was written at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spanned<T> {
    /// The value.
    pub node: T,
    /// Its place.
    pub span: Span,
}

/// Reads rule files, data files and directory globs on behalf of the pure core.
pub trait Loader {
    /// The bytes of the file at `path`.
    ///
    /// # Errors
    /// A message to a person: why the file cannot be read.
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;

    /// The files that a pattern with `*`, `?` or `[…]` names, sorted by name; empty when there are none.
    ///
    /// # Errors
    /// A message to a person: why the pattern is unusable.
    fn glob(&self, pattern: &str) -> Result<Vec<String>, String>;
}

/// A loader over files held in memory; used by tests, fuzzers and embedded rule sets.
#[derive(Clone, Default, Debug)]
pub struct MemoryLoader {
    files: BTreeMap<String, Arc<[u8]>>,
}

impl MemoryLoader {
    /// A loader without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a file.
    pub fn insert(&mut self, path: impl Into<String>, bytes: impl Into<Arc<[u8]>>) {
        self.files.insert(path.into(), bytes.into());
    }
}

impl Loader for MemoryLoader {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.files.get(path).map(|bytes| bytes.to_vec()).ok_or_else(|| format!("no file `{path}`"))
    }

    fn glob(&self, pattern: &str) -> Result<Vec<String>, String> {
        Ok(self.files.keys().filter(|path| glob_match(pattern.as_bytes(), path.as_bytes())).cloned().collect())
    }
}

/// Shell-style matching of `*` and `?` (neither crosses `/`) and `[…]`.
fn glob_match(pattern: &[u8], path: &[u8]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            glob_match(rest, path)
                || path.split_first().is_some_and(|(byte, tail)| *byte != b'/' && glob_match(pattern, tail))
        }
        (Some((b'?', rest)), Some((byte, tail))) => *byte != b'/' && glob_match(rest, tail),
        (Some((b'[', rest)), Some((byte, tail))) => match rest.iter().position(|b| *b == b']') {
            Some(end) if end > 0 => {
                let (class, after) = rest.split_at(end);
                let (class, negated) = match class.split_first() {
                    Some((b'!' | b'^', inner)) => (inner, true),
                    _ => (class, false),
                };
                class_contains(class, *byte) != negated && glob_match(after.get(1..).unwrap_or_default(), tail)
            }
            _ => *byte == b'[' && glob_match(rest, tail),
        },
        (Some((expected, rest)), Some((byte, tail))) => expected == byte && glob_match(rest, tail),
        _ => false,
    }
}

fn class_contains(class: &[u8], byte: u8) -> bool {
    match class {
        [low, b'-', high, rest @ ..] => (*low..=*high).contains(&byte) || class_contains(rest, byte),
        [one, rest @ ..] => *one == byte || class_contains(rest, byte),
        [] => false,
    }
}

/// The files read so far: names for messages, text for excerpts.
#[derive(Clone, Default, Debug)]
pub struct Sources {
    files: Vec<SourceFile>,
}

/// One file of [`Sources`].
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The path as given to the loader.
    pub path: Arc<str>,
    /// The bytes of the file.
    pub text: Arc<[u8]>,
}

impl Sources {
    /// Adds a file and returns its number.
    pub fn add(&mut self, path: &str, text: impl Into<Arc<[u8]>>) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files.push(SourceFile { path: path.into(), text: text.into() });
        id
    }

    /// The file with this number.
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// The path of a file, `?` for an unknown number.
    pub fn path(&self, id: FileId) -> Arc<str> {
        self.get(id).map_or_else(|| "?".into(), |file| Arc::clone(&file.path))
    }

    /// The physical line `line` (from 1) of a file, without its line end.
    pub fn line(&self, id: FileId, line: u32) -> Option<&[u8]> {
        let text = &self.get(id)?.text;
        let line = text.split(|byte| *byte == b'\n').nth((line as usize).checked_sub(1)?)?;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// All files, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter()
    }
}

/// Joins a path with the folder of the file that names it; an absolute path stays as it is.
pub fn resolve(from: &str, path: &str) -> String {
    match from.rfind('/') {
        Some(slash) if !path.starts_with('/') => {
            format!("{}{path}", from.get(..=slash).unwrap_or_default())
        }
        _ => path.to_owned(),
    }
}
