//! What a value must hold for an operator to match it: cheap tests that rule most values out before the operator runs.
//!
//! Everything here may be too weak, never too strong: a value that fails a test cannot match.

use rustc_hash::FxHashSet;

use super::byte_set::ByteSet;

/// Conditions that every matching value fulfils.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Necessary {
    /// The least length in bytes.
    pub min_len: usize,
    /// Of each set, the value holds a byte.
    pub sets: Vec<ByteSet>,
    /// Of each clause, the value holds one of the texts.
    pub clauses: Vec<Clause>,
}

/// Texts of which one must occur somewhere; ASCII letters of either case are alike. The texts are lower case and not
/// empty.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Clause(pub Vec<Vec<u8>>);

/// The literal automaton looks for windows of this many bytes; longer texts are cut to the rarest.
const WINDOW: usize = 5;

/// More sets than this are not worth their bits.
const MAX_SETS: usize = 3;

/// More clauses than this rule nothing more out.
const MAX_CLAUSES: usize = 2;

/// A set of which an ordinary byte is a member this often, or oftener, is in every value.
const COMMON: f32 = 0.3;

/// A clause that an ordinary text fulfils this often per byte is no condition.
const FREQUENT: f32 = 0.04;

/// Nor is one with a text that turns up this often.
const EVERYWHERE: f32 = 0.0035;

impl Necessary {
    /// Nothing is known: every value may match.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// The value holds one of the texts (any case).
    pub fn one_of(texts: &[impl AsRef<[u8]>]) -> Self {
        let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_ref().to_ascii_lowercase()).collect();
        let min_len = texts.iter().map(Vec::len).min().unwrap_or(0);
        let sets = rarest_bytes(&texts).into_iter().collect();
        Self { min_len, sets, clauses: vec![Clause(texts)] }.best()
    }

    /// The value holds a byte of the set.
    pub fn byte_of(set: ByteSet) -> Self {
        Self { min_len: 1, sets: vec![set], clauses: Vec::new() }
    }

    /// Whether a value meets all conditions.
    pub fn is_met(&self, value: &[u8]) -> bool {
        let holds = |text: &[u8]| value.windows(text.len()).any(|window| window.eq_ignore_ascii_case(text));
        value.len() >= self.min_len
            && self.sets.iter().all(|set| value.iter().any(|byte| set.contains(*byte)))
            && self.clauses.iter().all(|clause| clause.0.iter().any(|text| holds(text)))
    }

    /// Only the conditions that rule out the most: a few sets and clauses, texts cut to their rarest window.
    #[must_use]
    pub fn best(mut self) -> Self {
        self.sets.retain(|set| weight(*set) < COMMON);
        self.sets.sort_by(|a, b| weight(*a).total_cmp(&weight(*b)));
        self.sets.dedup();
        self.sets.truncate(MAX_SETS);
        self.clauses = self.clauses.into_iter().filter_map(Clause::windows).collect();
        self.clauses.sort_by(|a, b| a.frequency().total_cmp(&b.frequency()));
        self.clauses.dedup();
        self.clauses.truncate(MAX_CLAUSES);
        self
    }
}

impl Clause {
    /// Every text cut to its rarest window; `None` when ordinary text would fulfil the clause, or when a set of bytes says
    /// the same.
    fn windows(self) -> Option<Self> {
        if !self.is_usable() || self.0.iter().all(|text| text.len() == 1) {
            return None;
        }
        let mut texts: Vec<Vec<u8>> = self.shortest().iter().map(|text| rarest_window(text).to_vec()).collect();
        texts.sort();
        texts.dedup();
        Some(Self(texts)).filter(|clause| clause.frequency() < FREQUENT)
    }

    /// The texts that do not end with another text of the clause, which would be found there too.
    fn shortest(&self) -> Vec<&[u8]> {
        let all: FxHashSet<&[u8]> = self.0.iter().map(Vec::as_slice).collect();
        let ends = |text: &[u8]| (1..text.len()).any(|cut| text.get(cut..).is_some_and(|end| all.contains(end)));
        all.iter().copied().filter(|text| !ends(text)).collect()
    }

    /// About how often per byte the rarest window of one of the texts begins in ordinary text.
    pub fn frequency(&self) -> f32 {
        self.0.iter().map(|text| likelihood(rarest_window(text))).sum()
    }

    /// Whether every text is one to be looked for.
    pub fn is_usable(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|text| likelihood(rarest_window(text)) < EVERYWHERE)
    }
}

fn likelihood(text: &[u8]) -> f32 {
    text.iter().map(|byte| frequency(*byte)).product()
}

fn rarest_window(text: &[u8]) -> &[u8] {
    let rarest = text.windows(WINDOW).min_by(|a, b| likelihood(a).total_cmp(&likelihood(b)));
    rarest.unwrap_or(text)
}

/// Of each text its rarest byte, either case: one of them is in every value that holds one of the texts.
pub(super) fn rarest_bytes(texts: &[Vec<u8>]) -> Option<ByteSet> {
    let mut set = ByteSet::EMPTY;
    for text in texts {
        set.insert(text.iter().copied().min_by(|a, b| frequency(*a).total_cmp(&frequency(*b)))?);
    }
    Some(set.fold_case())
}

/// How often a byte of ordinary request data is in the set, about.
pub fn weight(set: ByteSet) -> f32 {
    set.iter().map(frequency).sum()
}

/// About how often a byte occurs in URIs, headers, cookies and bodies, letters of either case together (they are folded
/// before anything is looked for). Only the order of such numbers matters, and only for speed.
pub fn frequency(byte: u8) -> f32 {
    match byte.to_ascii_lowercase() {
        b'e' | b'a' | b't' | b'o' | b'i' | b'n' | b's' | b'r' => 0.045,
        b'l' | b'c' | b'd' | b'p' | b'm' | b'u' => 0.025,
        b'h' | b'f' | b'g' | b'w' | b'b' | b'y' | b'v' | b'k' | b'x' => 0.012,
        b'j' | b'q' | b'z' => 0.005,
        b'0'..=b'9' => 0.018,
        b' ' | b'-' | b'.' | b'/' | b'_' | b'%' => 0.02,
        b',' | b';' | b':' | b'+' | b'&' | b'=' => 0.01,
        b'"' | b'(' | b')' | b'?' | b'\'' | b'{' | b'}' => 0.003,
        0x80.. => 0.0005,
        _ => 0.001,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_frequent_ones_are_no_condition() {
        let found = Necessary::one_of(&["information_schema", "SLEEP("]);
        assert_eq!(found.min_len, 6);
        let texts = &found.clauses[0].0;
        assert!(texts.iter().all(|text| text.len() == WINDOW), "{texts:?}");
        assert!(texts.iter().all(|text| b"information_schemasleep(".windows(5).any(|w| w == text.as_slice())));
        assert!(Necessary::one_of(&["a", "union"]).clauses.is_empty());
    }

    #[test]
    fn a_set_that_is_in_every_value_is_no_condition() {
        let mut letters = ByteSet::EMPTY;
        letters.insert_range(b'a'..=b'z');
        assert!(Necessary::byte_of(letters).best().sets.is_empty());
        assert_eq!(Necessary::byte_of(ByteSet::of(b"<")).best().sets, [ByteSet::of(b"<")]);
    }
}
