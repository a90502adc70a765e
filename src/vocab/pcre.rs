//! Patterns in PCRE's syntax, as `@rx` takes them.

use regex_automata::meta;
use regex_automata::util::captures::Captures;
use regex_automata::util::syntax;
use regex_automata::{Input, Span};

use super::operators::{BuildError, MatchLimit};

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern {
    regex: meta::Regex,
}

/// The places of the groups of a match, group 0 the match itself.
#[derive(Clone, Default, Debug)]
pub struct Groups(Vec<Option<(usize, usize)>>);

impl Groups {
    /// The place of a group; `None` when it took no part.
    pub fn get(&self, group: usize) -> Option<(usize, usize)> {
        self.0.get(group).copied().flatten()
    }

    /// The groups in order, up to the last one that took part.
    pub fn up_to_last(&self) -> impl Iterator<Item = Option<(usize, usize)>> {
        let count = self.0.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        self.0.iter().take(count).copied()
    }
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The construct that neither engine takes, and its offset.
    pub fn new(pattern: &[u8], _match_limit: usize) -> Result<Self, BuildError> {
        let text = std::str::from_utf8(pattern).map_err(|_| BuildError::new("not text"))?;
        let regex = meta::Regex::builder()
            .configure(meta::Regex::config().utf8_empty(false))
            .syntax(syntax::Config::new().unicode(false).utf8(false).dot_matches_new_line(true))
            .build(text)
            .map_err(|error| BuildError::new(error.to_string()))?;
        Ok(Self { regex })
    }

    /// Whether the pattern is found in the value.
    ///
    /// # Errors
    /// The step limit of the backtracking engine was reached.
    pub fn is_match(&self, value: &[u8]) -> Result<bool, MatchLimit> {
        Ok(self.regex.is_match(value))
    }

    /// Looks for the first match that starts at `from` or later, and fills in its groups.
    ///
    /// # Errors
    /// The step limit of the backtracking engine was reached.
    pub fn find_at(&self, value: &[u8], from: usize, groups: &mut Groups) -> Result<bool, MatchLimit> {
        let mut captures: Captures = self.regex.create_captures();
        self.regex.search_captures(&Input::new(value).span(from..value.len()), &mut captures);
        groups.0.clear();
        groups.0.extend(captures.iter().map(|group| group.map(|Span { start, end }| (start, end))));
        Ok(captures.is_match())
    }
}
