//! The operators (`@rx`, `@pm`, `@eq`, …): one file each below `operators/`, one row each in [`OPERATORS`].

use std::fmt::Debug;

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

    /// Notes a warning about this operator (a pattern part that can never match, a phrase listed twice).
    fn warn(&mut self, message: String);
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

/// Every operator there is, sorted by name without regard to case.
pub const OPERATORS: &[OperatorEntry] = &[];

/// The operator with this name (any case; aliases included).
pub fn find(name: &str) -> Option<&'static OperatorEntry> {
    OPERATORS.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
}
