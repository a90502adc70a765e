//! The operators (`@rx`, `@pm`, `@eq`, …): one file each (or each family) below `operators/`, one row each in
//! [`OPERATORS`].
//!
//! Knows no rule, no variable and no macro: arguments come expanded.

mod constant;
mod contains_word;
mod injection;
mod ip_match;
mod numbers;
mod pm;
mod rx;
mod text;
mod validate_byte_range;
mod validate_url_encoding;
mod validate_utf8_encoding;
mod verify;

use std::fmt::Debug;

use super::necessary::Necessary;

/// How an operator is made from its argument.
pub enum OperatorKind {
    /// Compares its argument, macros expanded per request, with the value. Nothing is prepared.
    Compare(fn(argument: &[u8], value: &[u8]) -> bool),
    /// Prepares a matcher from its argument at load time (or per expanded text when the argument holds macros).
    Build(BuildMatcher),
    /// Known, never matches: what it needs is outside this product's scope. The text says why, for the load warning.
    Inert(&'static str),
}

/// Prepares a matcher; the error is a message to the rule's author.
pub type BuildMatcher = fn(argument: &[u8], context: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError>;

/// What preparing a matcher may need from outside.
pub trait BuildContext {
    /// The bytes of a data file, looked up relative to the rule file that names it.
    ///
    /// # Errors
    /// A message to a person: which places were tried.
    fn data_file(&mut self, name: &str) -> Result<Vec<u8>, String>;

    /// The step limit of the backtracking engine (`SecPcreMatchLimit`).
    fn match_limit(&self) -> usize;

    /// Whether anybody wants to know what a value must hold to match; working it out takes time.
    fn wants_necessary(&self) -> bool {
        false
    }

    /// Takes what every matching value holds.
    fn take_necessary(&mut self, _necessary: Necessary) {}
}

/// Why an argument is unusable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuildError {
    /// What is wrong: lower case, no full stop, the user's text in backticks.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// The offset in the argument of the text meant, where known.
    pub offset: Option<usize>,
}

impl BuildError {
    /// An error without help or place.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, offset: None }
    }
}

/// A prepared operator.
pub trait Matcher: Debug + Send + Sync {
    /// Whether the value matches. When `captures` is given and the value matches, fills it.
    ///
    /// # Errors
    /// [`MatchLimit`] when a backtracking pattern ran into its step limit: neither a match nor a miss.
    fn is_match(&self, value: &[u8], captures: Option<&mut Captures>) -> Result<bool, MatchLimit>;
}

/// A backtracking pattern ran into its step limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatchLimit;

/// What `capture` stores as TX.0 to TX.9.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Captures {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Captures {
    /// TX.0 to TX.9.
    pub const MAX: usize = 10;

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds the next capture; those beyond [`Captures::MAX`] are dropped. A group that took no part is empty.
    pub fn push(&mut self, text: &[u8]) {
        if self.ends.len() < Self::MAX {
            self.bytes.extend_from_slice(text);
            self.ends.push(self.bytes.len());
        }
    }

    /// The captures in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.ends.iter().enumerate().map(|(index, end)| {
            let start = index.checked_sub(1).and_then(|previous| self.ends.get(previous)).copied().unwrap_or(0);
            self.bytes.get(start..*end).unwrap_or_default()
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// A row of the table.
pub struct OperatorEntry {
    /// The name without `@`, in the field's usual spelling.
    pub name: &'static str,
    /// How it works.
    pub kind: OperatorKind,
}

impl OperatorEntry {
    /// Whether a value has to hold the whole argument for a match.
    pub fn holds_argument(&self) -> bool {
        matches!(self.name, "beginsWith" | "contains" | "containsWord" | "endsWith" | "streq" | "strmatch")
    }
}

const fn compare(name: &'static str, function: fn(&[u8], &[u8]) -> bool) -> OperatorEntry {
    OperatorEntry { name, kind: OperatorKind::Compare(function) }
}

const fn build(name: &'static str, function: BuildMatcher) -> OperatorEntry {
    OperatorEntry { name, kind: OperatorKind::Build(function) }
}

const fn inert(name: &'static str, reason: &'static str) -> OperatorEntry {
    OperatorEntry { name, kind: OperatorKind::Inert(reason) }
}

/// Every operator there is, sorted by name without regard to case.
pub const OPERATORS: &[OperatorEntry] = &[
    compare("beginsWith", text::begins_with),
    compare("contains", text::contains),
    compare("containsWord", contains_word::contains_word),
    build("detectSQLi", injection::build_sqli),
    build("detectXSS", injection::build_xss),
    compare("endsWith", text::ends_with),
    compare("eq", numbers::eq),
    inert("fuzzyHash", "similarity hashes of files are not computed"),
    compare("ge", numbers::ge),
    inert("geoLookup", "there is no geographic database"),
    inert("gsbLookup", "there is no Safe Browsing database"),
    compare("gt", numbers::gt),
    inert("inspectFile", "no program is started for uploaded files"),
    build("ipMatch", ip_match::build),
    build("ipMatchFromFile", ip_match::build_from_file),
    compare("le", numbers::le),
    compare("lt", numbers::lt),
    build("noMatch", constant::build_never),
    build("pm", pm::build),
    build("pmFromFile", pm::build_from_file),
    inert("rbl", "no name server is asked while a request waits"),
    inert("rsub", "bodies are judged, not rewritten"),
    build("rx", rx::build),
    build("rxGlobal", rx::build_global),
    compare("streq", text::streq),
    compare("strmatch", text::contains),
    build("unconditionalMatch", constant::build_always),
    build("validateByteRange", validate_byte_range::build),
    inert("validateDTD", "documents are not checked against a document type definition"),
    inert("validateHash", "links are not signed, so there is no hash to check"),
    inert("validateSchema", "documents are not checked against a schema"),
    build("validateUrlEncoding", validate_url_encoding::build),
    build("validateUtf8Encoding", validate_utf8_encoding::build),
    build("verifyCC", verify::build_cc),
    build("verifyCPF", verify::build_cpf),
    build("verifySSN", verify::build_ssn),
    build("verifySVNR", verify::build_svnr),
    compare("within", text::within),
];

/// Shorter names in use, with the name of the row meant.
pub const ALIASES: &[(&str, &str)] = &[("ipMatchF", "ipMatchFromFile"), ("pmf", "pmFromFile")];

/// The operator with this name (any case; aliases included).
///
/// ```
/// use portcullis::vocab::operators::{OperatorKind, find};
///
/// let OperatorKind::Compare(begins_with) = find("beginswith").unwrap().kind else { unreachable!() };
/// assert!(begins_with(b"/admin", b"/admin/users"));
/// ```
pub fn find(name: &str) -> Option<&'static OperatorEntry> {
    let alias = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
    let name = alias.map_or(name, |(_, meant)| meant);
    OPERATORS.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
}

/// What the tests of the operators share: a context over one file.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// A context with one data file.
    #[derive(Debug)]
    pub(crate) struct Context {
        pub(crate) file: &'static [u8],
        pub(crate) match_limit: usize,
    }

    impl Default for Context {
        fn default() -> Self {
            Self { file: b"", match_limit: 10_000 }
        }
    }

    impl BuildContext for Context {
        fn data_file(&mut self, name: &str) -> Result<Vec<u8>, String> {
            if name == "file" { Ok(self.file.to_vec()) } else { Err(format!("no file `{name}`")) }
        }

        fn match_limit(&self) -> usize {
            self.match_limit
        }
    }

    /// The matcher of the operator, made without a file.
    pub(crate) fn matcher(name: &str, argument: &[u8]) -> Result<Box<dyn Matcher>, BuildError> {
        match find(name).expect(name).kind {
            OperatorKind::Build(build) => build(argument, &mut Context::default()),
            _ => panic!("{name} builds nothing"),
        }
    }

    /// What the operator captures on a match.
    pub(crate) fn captured(name: &str, argument: &[u8], value: &[u8]) -> Option<Vec<Vec<u8>>> {
        let mut captures = Captures::default();
        let matched = matcher(name, argument).unwrap().is_match(value, Some(&mut captures)).unwrap();
        matched.then(|| captures.iter().map(<[u8]>::to_vec).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_its_names_are_unique() {
        let names: Vec<_> = OPERATORS.iter().map(|entry| entry.name.to_ascii_lowercase()).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        assert_eq!(names.len(), 38);
    }

    #[test]
    fn aliases_and_any_case_find_their_row() {
        assert_eq!(find("PMF").unwrap().name, "pmFromFile");
        assert_eq!(find("ipmatchf").unwrap().name, "ipMatchFromFile");
        assert!(find("restpath").is_none());
    }

    #[test]
    fn captures_end_at_the_tenth() {
        let mut captures = Captures::default();
        for number in 0..12u8 {
            captures.push(&[number; 2]);
        }
        assert_eq!(captures.len(), Captures::MAX);
        assert_eq!(captures.iter().last(), Some(&[9u8; 2][..]));
        captures.clear();
        assert!(captures.is_empty());
    }
}
