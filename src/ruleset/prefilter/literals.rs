//! One automaton for the texts of all clauses of all rules, letters of either case alike.
//!
//! A flat table of state times byte class, so that a byte costs one look-up. States that report something have the
//! highest numbers.

#![expect(
    clippy::indexing_slicing,
    reason = "states are numbered by the table they index, and byte classes are below its row length"
)]

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

use crate::vocab::byte_set::ByteSet;
use crate::vocab::necessary::frequency;

/// More states than this do not fit the table's cells.
const MAX_STATES: usize = 60_000;

/// Longer values are worth the room to remember what has been reported.
const LONG: usize = 1_024;

/// Bytes that get a class of their own; all others share two.
const MAX_CLASSES: usize = 64;

/// A clause that a text belongs to: the entry, and whether it is its first or second.
pub(crate) type ClauseOf = (u16, u8);

/// The automaton.
#[derive(Debug)]
pub(crate) struct Literals {
    classes: Box<[u8; 256]>,
    /// For each state the next one for each class.
    next: Vec<[u16; MAX_CLASSES]>,
    /// States from here on report.
    first_reporting: u16,
    /// For each reporting state the start of what it reports in `reports`, and the end of the last one's.
    starts: Vec<u32>,
    /// Words of the clauses' bits, and the bits to set there.
    reports: Vec<(u16, u64)>,
    /// Words of the bits of the first clauses, and of those of the second, which stand behind them.
    words: usize,
}

impl Default for Literals {
    fn default() -> Self {
        Self::new(&[], 0).0
    }
}

impl Literals {
    /// The automaton for these clauses, and which of them found room.
    pub(crate) fn new(clauses: &[(ClauseOf, &[Vec<u8>])], words: usize) -> (Self, Vec<bool>) {
        let classes = classes(clauses);
        let mut trie = Trie::default();
        let mut taken = vec![false; clauses.len()];
        // Small clauses first: one long list must not take the room of many short ones.
        let mut order: Vec<usize> = (0..clauses.len()).collect();
        order.sort_by_key(|place| clauses[*place].1.len());
        for place in order {
            let (of, texts) = clauses[place];
            let bytes: usize = texts.iter().map(Vec::len).sum();
            if trie.nodes.len() + bytes > MAX_STATES {
                continue;
            }
            taken[place] = true;
            for text in texts {
                trie.add(text.iter().map(|byte| classes[usize::from(*byte)]), of);
            }
        }
        (trie.automaton(classes, words), taken)
    }

    /// Marks the clauses that the value fulfils; [`Literals::clauses`] tells them apart.
    pub(crate) fn scan(&self, value: &[u8], fulfilled: &mut Vec<u64>) {
        fulfilled.clear();
        fulfilled.resize(2 * self.words, 0);
        if value.len() <= LONG {
            return self.walk(value, |place| self.report(place, fulfilled));
        }
        // Long values come to the same states over and over; what a state reports is marked once.
        let mut reported = [0u64; MAX_STATES.div_ceil(64)];
        self.walk(value, |place| {
            let (word, bit) = (place / 64, 1 << (place % 64));
            if reported[word] & bit == 0 {
                reported[word] |= bit;
                self.report(place, fulfilled);
            }
        });
    }

    /// What [`Literals::scan`] marked: a bit for the first clause of each entry, and one for the second of each.
    pub(crate) fn clauses(fulfilled: &[u64]) -> [&[u64]; 2] {
        let (first, second) = fulfilled.split_at(fulfilled.len() / 2);
        [first, second]
    }

    /// Gives out the reporting states that the value comes to, counted from the first.
    #[inline]
    fn walk(&self, value: &[u8], mut report: impl FnMut(usize)) {
        let mut state = 0u16;
        let mut read = |byte: &u8| {
            // The remainder is the class itself, and lets the compiler leave the check out.
            let class = usize::from(self.classes[usize::from(*byte)]) % MAX_CLASSES;
            state = self.next[usize::from(state)][class];
            if state >= self.first_reporting {
                report(usize::from(state - self.first_reporting));
            }
        };
        // Four by four, since counting the bytes is a fifth of the work.
        let (fours, rest) = value.as_chunks::<4>();
        for [first, second, third, fourth] in fours {
            read(first);
            read(second);
            read(third);
            read(fourth);
        }
        rest.iter().for_each(read);
    }

    fn report(&self, place: usize, fulfilled: &mut [u64]) {
        let (start, end) = (self.starts[place] as usize, self.starts[place + 1] as usize);
        for (word, bits) in &self.reports[start..end] {
            fulfilled[usize::from(*word)] |= bits;
        }
    }
}

/// Every byte's class. 0 is for bytes in no text; when the texts hold too many different bytes, those that are
/// rarest in requests share class 1, and a text with one of them is found too often, never too seldom.
fn classes(clauses: &[(ClauseOf, &[Vec<u8>])]) -> Box<[u8; 256]> {
    let bytes = clauses.iter().flat_map(|(_, texts)| texts.iter().flatten());
    let set = bytes.fold(ByteSet::EMPTY, |set, byte| set.with(byte.to_ascii_lowercase()));
    let mut used: Vec<u8> = set.iter().collect();
    used.sort_by(|a, b| frequency(*b).total_cmp(&frequency(*a)));
    let mut classes = Box::new([0; 256]);
    for (byte, class) in used.iter().zip((2..MAX_CLASSES as u8).chain(std::iter::repeat(1))) {
        classes[usize::from(*byte)] = class;
        classes[usize::from(byte.to_ascii_uppercase())] = class;
    }
    classes
}

#[derive(Default)]
struct TrieNode {
    children: FxHashMap<u8, usize>,
    failure: usize,
    reports: Vec<ClauseOf>,
}

struct Trie {
    nodes: Vec<TrieNode>,
}

impl Default for Trie {
    fn default() -> Self {
        Self { nodes: vec![TrieNode::default()] }
    }
}

impl Trie {
    fn add(&mut self, text: impl Iterator<Item = u8>, of: ClauseOf) {
        let mut node = 0;
        for class in text {
            let new = self.nodes.len();
            node = *self.nodes[node].children.entry(class).or_insert(new);
            if node == new {
                self.nodes.push(TrieNode::default());
            }
        }
        self.nodes[node].reports.push(of);
    }

    /// Aho and Corasick's construction, nodes in order of depth.
    fn automaton(mut self, classes: Box<[u8; 256]>, words: usize) -> Literals {
        let mut next = vec![0usize; self.nodes.len() * MAX_CLASSES];
        let mut queue = VecDeque::from([0]);
        while let Some(node) = queue.pop_front() {
            let failure = self.nodes[node].failure;
            for class in 0..MAX_CLASSES {
                let fallback = if node == 0 { 0 } else { next[failure * MAX_CLASSES + class] };
                let child = self.nodes[node].children.get(&(class as u8)).copied();
                next[node * MAX_CLASSES + class] = child.unwrap_or(fallback);
                if let Some(child) = child {
                    self.nodes[child].failure = fallback;
                    let inherited = self.nodes[fallback].reports.clone();
                    self.nodes[child].reports.extend(inherited);
                    queue.push_back(child);
                }
            }
        }
        self.pack(classes, &next, words)
    }

    /// Renumbers the states so that those that report come last.
    fn pack(self, classes: Box<[u8; 256]>, next: &[usize], words: usize) -> Literals {
        let (mut order, reporting): (Vec<usize>, Vec<usize>) =
            (0..self.nodes.len()).partition(|node| self.nodes[*node].reports.is_empty());
        let first_reporting = order.len() as u16;
        order.extend(&reporting);
        let mut number = vec![0u16; order.len()];
        for (new, old) in order.iter().enumerate() {
            number[*old] = new as u16;
        }
        let row = |old: &usize| std::array::from_fn(|class| number[next[old * MAX_CLASSES + class]]);
        let next = order.iter().map(row).collect();
        let (mut starts, mut reports) = (vec![0], Vec::new());
        for node in reporting {
            let mut of_words: BTreeMap<u16, u64> = BTreeMap::new();
            for (entry, clause) in &self.nodes[node].reports {
                let word = usize::from(*clause) * words + usize::from(*entry) / 64;
                *of_words.entry(word as u16).or_default() |= 1 << (entry % 64);
            }
            reports.extend(of_words);
            starts.push(reports.len() as u32);
        }
        Literals { classes, next, first_reporting, starts, reports, words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(literals: &Literals, value: &[u8]) -> [u64; 2] {
        let mut fulfilled = Vec::new();
        literals.scan(value, &mut fulfilled);
        Literals::clauses(&fulfilled).map(|words| words.first().copied().unwrap_or_default())
    }

    fn texts(list: &[&str]) -> Vec<Vec<u8>> {
        list.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    #[test]
    fn overlapping_and_nested_texts_are_all_reported() {
        let lists = [texts(&["she", "he"]), texts(&["hers"]), texts(&["e"]), texts(&["xyz", "hersx"])];
        let clauses: Vec<_> = lists.iter().zip(0..).map(|(list, entry)| ((entry, 0), list.as_slice())).collect();
        let (literals, taken) = Literals::new(&clauses, 1);
        assert_eq!(taken, [true; 4]);
        for (value, expected) in
            [("ushers", 0b0111), ("SHE", 0b0101), ("hersx", 0b1111), ("axyzb", 0b1000), ("", 0), ("sh", 0)]
        {
            assert_eq!(found(&literals, value.as_bytes())[0], expected, "{value}");
        }
    }

    #[test]
    fn many_different_bytes_are_found_at_least() {
        let list: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte, byte.wrapping_add(7)]).collect();
        let clauses: Vec<_> =
            list.iter().zip(0..64).map(|(text, entry)| ((entry, 1), std::slice::from_ref(text))).collect();
        let (literals, _) = Literals::new(&clauses, 1);
        for (entry, text) in list.iter().take(64).enumerate() {
            assert_ne!(found(&literals, text)[1] & 1 << entry, 0, "{text:?}");
        }
    }

    #[test]
    fn long_values_are_read_alike() {
        let lists = [texts(&["she", "he"]), texts(&["hers"]), texts(&["xyz"])];
        let clauses: Vec<_> = lists.iter().zip(0..).map(|(list, entry)| ((entry, 0), list.as_slice())).collect();
        let (literals, _) = Literals::new(&clauses, 1);
        let blanks = " ".repeat(LONG);
        for (end, expected) in [("", 0b000), ("she", 0b001), ("hers xyz", 0b111)] {
            assert_eq!(found(&literals, format!("{end}{blanks}{end}").as_bytes())[0], expected, "{end}");
        }
    }

    #[test]
    fn without_clauses_nothing_is_reported() {
        assert_eq!(found(&Literals::default(), b"anything"), [0, 0]);
    }

    #[test]
    fn a_list_that_finds_no_room_is_left_out_alone() {
        let huge: Vec<Vec<u8>> = (0..20_000u32).map(|number| number.to_be_bytes().to_vec()).collect();
        let small = texts(&["small"]);
        let (literals, taken) = Literals::new(&[((0, 0), &huge), ((1, 0), &small)], 1);
        assert_eq!(taken, [false, true]);
        assert_eq!(found(&literals, b"a small one")[0], 2);
    }
}
