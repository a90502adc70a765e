//! Memory that evaluations reuse.

use rustc_hash::FxHashMap;

use super::fields::Fields;
use super::input::Input;
use super::prefilter::{Memo, Sieve};
use super::prelude::Prelude;
use super::relayed::Relayed;
use super::state::State;
use crate::vocab::operators::{BuildContext, BuildMatcher, Captures, Matcher};

/// Everything mutable that an evaluation needs; reused from request to request, one per worker.
///
/// A scratch may be used with different rule sets in turn; what it keeps between requests never changes an outcome.
#[derive(Default, Debug)]
pub struct Scratch {
    pub(crate) input: Input,
    pub(crate) state: State,
    pub(crate) work: Work,
}

impl Scratch {
    /// A scratch that keeps nothing of values seen before: for measuring what they save, and for those who want no value
    /// kept.
    pub fn without_memo() -> Self {
        let mut scratch = Self::default();
        scratch.work.sieve.memo = Memo::OFF;
        scratch.work.relayed = Relayed::OFF;
        scratch
    }
}

/// Buffers of the evaluation of single values.
#[derive(Default, Debug)]
pub(crate) struct Work {
    /// Two buffers that transformations write to in turn.
    pub(crate) transformed: [Vec<u8>; 2],
    /// Members of a state variable, copied before they are visited.
    pub(crate) snapshot: Fields,
    /// Members of a state variable that a macro names.
    pub(crate) named: Fields,
    /// An operator's argument with its macros expanded.
    pub(crate) argument: Vec<u8>,
    /// The value of a TX variable, copied before it is looked at.
    pub(crate) tx_value: Vec<u8>,
    /// A TX variable's name with its macros expanded.
    pub(crate) name: Vec<u8>,
    pub(crate) captures: Captures,
    pub(crate) late: LateMatchers,
    pub(crate) sieve: Sieve,
    pub(crate) prelude: Prelude,
    pub(crate) relayed: Relayed,
    /// The clauses that a screened value fulfils, as sent and as transformed.
    pub(crate) screened: [Vec<u64>; 2],
}

/// Matchers whose argument holds macros, prepared per expanded text.
#[derive(Default, Debug)]
pub(crate) struct LateMatchers {
    prepared: FxHashMap<LateKey, Option<Box<dyn Matcher>>>,
}

/// The address of the function that prepares the matcher, and the expanded argument.
type LateKey = (usize, Vec<u8>);

impl LateMatchers {
    /// More texts than this are not kept: what they are made of may be the client's.
    const MAX: usize = 64;

    /// The matcher for an expanded argument; `None` when the text is no valid argument.
    pub(crate) fn get(&mut self, build: BuildMatcher, argument: &[u8], match_limit: usize) -> Option<&dyn Matcher> {
        // The address tells operators apart; equal addresses prepare equal matchers.
        let key = (build as usize, argument.to_vec());
        if !self.prepared.contains_key(&key) {
            if self.prepared.len() >= Self::MAX {
                self.prepared.clear();
            }
            let matcher = build(argument, &mut LateContext { match_limit }).ok();
            self.prepared.insert(key.clone(), matcher);
        }
        self.prepared.get(&key)?.as_deref()
    }
}

struct LateContext {
    match_limit: usize,
}

impl BuildContext for LateContext {
    fn data_file(&mut self, name: &str) -> Result<Vec<u8>, String> {
        Err(format!("`{name}` cannot be read while a request is evaluated"))
    }

    fn match_limit(&self) -> usize {
        self.match_limit
    }
}
