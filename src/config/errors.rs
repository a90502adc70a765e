//! What is wrong with a configuration: place, key, what, and what to write instead; all of it at once.

use std::fmt;
use std::sync::Arc;

/// Where a setting was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the file, at this line (from 1; 0 stands for the file as a whole).
    File {
        /// The file as named by the user.
        file: Arc<str>,
        /// The line.
        line: usize,
    },
    /// In this environment variable.
    Environment(String),
    /// In this `--set` argument, as written.
    Set(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line: 0 } => write!(f, "{file}"),
            Self::File { file, line } => write!(f, "{file}:{line}"),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::Set(argument) => write!(f, "--set {argument}"),
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// The key, in full; empty when the problem is with the document as a whole.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// What to write instead; empty when there is nothing to say.
    pub fix: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}", self.what)?;
        if self.fix.is_empty() { Ok(()) } else { write!(f, "; {}", self.fix) }
    }
}

/// Everything that is wrong with a configuration, in the order in which it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigErrors {
    /// The problems; never empty.
    pub problems: Vec<Problem>,
}

impl ConfigErrors {
    /// One line for each problem.
    pub fn messages(&self) -> Vec<String> {
        self.problems.iter().map(Problem::to_string).collect()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.messages().join("\n"))
    }
}

impl std::error::Error for ConfigErrors {}

/// Of these names the one that was probably meant.
pub(super) fn nearest<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let written = written.to_ascii_lowercase();
    let allowed = (written.len() / 3).clamp(1, 3);
    let near = names.into_iter().map(|name| (distance(&written, &name.to_ascii_lowercase()), name));
    near.filter(|(distance, _)| *distance <= allowed).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// The number of letters to add, drop, change or swap with their neighbour to get from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, &from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &to) in b.iter().enumerate() {
            let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
            let changed = at(&last, j) + usize::from(from != to);
            let mut best = changed.min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(&to) && b.get(j - 1) == Some(&from);
            if swapped {
                best = best.min(at(&before_last, j - 1) + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names() {
        let names = ["mode", "rules", "deadline", "deny_status", "on_error"];
        let table = [
            ("mod", Some("mode")),
            ("modde", Some("mode")),
            ("Rules", Some("rules")),
            ("deadlien", Some("deadline")),
            ("denystatus", Some("deny_status")),
            ("on-error", Some("on_error")),
            ("timeout", None),
            ("", None),
        ];
        for (written, expected) in table {
            assert_eq!(nearest(written, names), expected, "{written}");
        }
    }
}
