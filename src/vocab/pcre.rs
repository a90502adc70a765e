//! Patterns in PCRE's syntax, as `@rx` takes them: bytes in, no Unicode, the dot matches line feeds, `$` only the very
//! end.
//!
//! A pattern is read into a tree of our own, because two engines that read the same text mean different things by it.
//! Regular patterns, nearly all, go to an engine that is linear in the length of the value; what needs look-around,
//! references or real atomic groups goes to a backtracking engine with a step limit.

mod ast;
mod automaton;
mod backtracking;
mod class;
mod linear;
mod necessary;
mod parser;
mod regular;
mod sets;
#[cfg(test)]
mod tests;

use self::backtracking::Backtracking;
use self::linear::Linear;
use super::necessary::Necessary;
use super::operators::{BuildError, Captures, MatchLimit};

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern(Engine);

#[derive(Debug)]
enum Engine {
    /// `^.*$` and the like: any value, whole.
    Everything,
    Linear(Linear),
    /// With what a value must hold before the engine is asked: most values never come near its step limit.
    Backtracking(Backtracking, Necessary),
}

/// The places of the groups of a match, group 0 the match itself; those beyond [`Captures::MAX`] are left out.
#[derive(Clone, Default, Debug)]
pub struct Groups {
    places: [Option<(usize, usize)>; Captures::MAX],
    len: usize,
}

impl Groups {
    /// The place of a group; `None` when it took no part.
    pub fn get(&self, group: usize) -> Option<(usize, usize)> {
        self.places.get(..self.len)?.get(group).copied().flatten()
    }

    /// The groups in order, up to the last one that took part.
    pub fn up_to_last(&self) -> impl Iterator<Item = Option<(usize, usize)>> {
        let places = self.places.get(..self.len).unwrap_or_default();
        let count = places.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        places.iter().take(count).copied()
    }

    /// Replaces all groups.
    fn set(&mut self, groups: impl Iterator<Item = Option<(usize, usize)>>) {
        self.len = 0;
        for (place, group) in self.places.iter_mut().zip(groups) {
            *place = group;
            self.len += 1;
        }
    }
}

impl Pattern {
    /// Compiles a pattern. `match_limit` bounds the steps of the backtracking engine.
    ///
    /// ```
    /// use portcullis::vocab::pcre::Pattern;
    ///
    /// let pattern = Pattern::new(br"(?i)union\s++select", 10_000).unwrap();
    /// assert_eq!(pattern.is_match(b"1 UNION\x0bSELECT"), Ok(true));
    /// assert!(pattern.is_linear());
    /// ```
    ///
    /// # Errors
    /// The construct that neither engine takes, and its offset.
    pub fn new(pattern: &[u8], match_limit: usize) -> Result<Self, BuildError> {
        let node = parser::parse(pattern)?;
        if node.is_everything() {
            return Ok(Self(Engine::Everything));
        }
        Ok(Self(match regular::regular(&node) {
            Some(node) => Engine::Linear(Linear::new(pattern, &node)?),
            None => Engine::Backtracking(Backtracking::new(&node, match_limit)?, necessary::of(&node)),
        }))
    }

    /// What the pattern takes of the heap so far, in bytes, as far as its automaton goes.
    pub fn automaton_bytes(&self) -> usize {
        match &self.0 {
            Engine::Linear(regex) => regex.automaton_bytes(),
            Engine::Everything | Engine::Backtracking(..) => 0,
        }
    }

    /// What every value that the pattern is found in must hold; nothing when the pattern cannot be read.
    pub fn necessary(pattern: &[u8]) -> Necessary {
        parser::parse(pattern).map_or_else(|_| Necessary::nothing(), |node| necessary::of(&node))
    }

    /// Whether matching takes time linear in the value's length, so that the step limit cannot be hit.
    pub const fn is_linear(&self) -> bool {
        !matches!(self.0, Engine::Backtracking(..))
    }

    /// Whether the pattern matches every value, and that whole.
    pub const fn is_everything(&self) -> bool {
        matches!(self.0, Engine::Everything)
    }

    /// Whether the pattern is found in the value.
    ///
    /// # Errors
    /// The step limit was reached.
    pub fn is_match(&self, value: &[u8]) -> Result<bool, MatchLimit> {
        match &self.0 {
            Engine::Everything => Ok(true),
            Engine::Linear(regex) => Ok(regex.is_match(value)),
            Engine::Backtracking(_, necessary) if !necessary.is_met(value) => Ok(false),
            Engine::Backtracking(regex, _) => regex.is_match(value),
        }
    }

    /// Looks for the first match that starts at `from` or later, and fills in its groups. Asked
    /// from the start, it says no as soon as [`Pattern::is_match`] does.
    ///
    /// # Errors
    /// The step limit was reached.
    pub fn find_at(&self, value: &[u8], from: usize, groups: &mut Groups) -> Result<bool, MatchLimit> {
        match &self.0 {
            Engine::Everything => {
                groups.set((from == 0).then_some(Some((0, value.len()))).into_iter());
                Ok(from == 0)
            }
            Engine::Linear(regex) => Ok(regex.find_at(value, from, groups)),
            // The step limit is reached where it is when nobody asks for places.
            Engine::Backtracking(..) if from == 0 && !self.is_match(value)? => Ok(false),
            Engine::Backtracking(regex, _) => regex.find_at(value, from, groups),
        }
    }
}
