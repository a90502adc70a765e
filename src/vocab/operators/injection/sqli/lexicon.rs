//! The words of SQL and the fingerprints of injections, in tables that the compiler makes of the files in `../data`.

#![expect(
    clippy::indexing_slicing,
    reason = "the compiler runs what fills the tables, and stops where an index is wrong; \
    a request's bytes index nothing without a check or a bound of their type"
)]

use super::token::Kind;

const WORDS_FILE: &[u8] = include_bytes!("../data/words.txt");
const FINGERPRINTS_FILE: &[u8] = include_bytes!("../data/fingerprints.txt");

static WORDS: Words = Words::read();
static FINGERPRINTS: Fingerprints = Fingerprints::read();

/// The kind of a word or phrase, written in any case.
pub(super) fn word(text: &[u8]) -> Option<Kind> {
    let at = |index: usize| text.get(index).copied().unwrap_or_default();
    let mut same = WORDS.candidates(text.len(), at).filter(|entry| entry.text().eq_ignore_ascii_case(text));
    same.next().map(|entry| entry.kind)
}

/// The phrase of these words with one blank between them.
pub(super) fn phrase(left: &[u8], right: &[u8]) -> Option<(Kind, &'static [u8])> {
    let blank = left.len();
    let at = |index: usize| match index.checked_sub(blank) {
        None => left.get(index).copied().unwrap_or_default(),
        Some(0) => b' ',
        Some(after) => right.get(after - 1).copied().unwrap_or_default(),
    };
    let is_same = |text: &[u8]| match text.split_at_checked(blank) {
        Some((first, [b' ', rest @ ..])) => first.eq_ignore_ascii_case(left) && rest.eq_ignore_ascii_case(right),
        _ => false,
    };
    let mut same = WORDS.candidates(blank + 1 + right.len(), at).filter(|entry| is_same(entry.text()));
    same.next().map(|entry| (entry.kind, entry.text()))
}

/// Whether tokens of these kinds, at most five, are an injection.
pub(super) fn is_injection(letters: &[u8]) -> bool {
    FINGERPRINTS.contains(letters)
}

/// Words by hash. The tests of the reference hold all of them against the C library's.
struct Words {
    entries: [Entry; WORD_COUNT],
    /// The number of the last word with this hash, counted from one.
    last: [u16; BUCKETS],
}

const BUCKETS: usize = 2_048;
const WORD_COUNT: usize = count_words(WORDS_FILE);

/// The longest word or phrase; what is longer need not be hashed.
const MAX_WORD: usize = 29;

#[derive(Clone, Copy)]
struct Entry {
    start: u16,
    len: u8,
    kind: Kind,
    /// The word before it with the same hash, counted from one.
    previous: u16,
}

impl Entry {
    fn text(&self) -> &'static [u8] {
        let start = usize::from(self.start);
        WORDS_FILE.get(start..start + usize::from(self.len)).unwrap_or_default()
    }
}

const fn count_words(file: &[u8]) -> usize {
    let (mut words, mut at) = (0, 0);
    while at < file.len() {
        let end = line_end(file, at);
        if file[at] != b'#' {
            words += 1;
            while at < end {
                words += (file[at] == b'|') as usize;
                at += 1;
            }
        }
        at = end + 1;
    }
    words
}

const fn line_end(file: &[u8], from: usize) -> usize {
    let mut at = from;
    while file[at] != b'\n' {
        at += 1;
    }
    at
}

/// First, middle and last byte and the length tell nearly all words apart. Letters lose their case, which makes some
/// other bytes alike as well; that costs a comparison and no more.
const fn hash(first: u8, middle: u8, last: u8, len: usize) -> usize {
    let key = u32::from_le_bytes([first | 0x20, middle | 0x20, last | 0x20, len as u8]);
    (key.wrapping_mul(0x3db2_464d) >> 21) as usize
}

impl Words {
    const fn read() -> Self {
        let blank = Entry { start: 0, len: 0, kind: Kind::Bareword, previous: 0 };
        let mut words = Self { entries: [blank; WORD_COUNT], last: [0; BUCKETS] };
        let (mut count, mut at) = (0, 0);
        while at < WORDS_FILE.len() {
            let end = line_end(WORDS_FILE, at);
            if let Some(kind) = Kind::of_word(WORDS_FILE[at]) {
                at += 2;
                while at < end {
                    let start = at;
                    while at < end && WORDS_FILE[at] != b'|' {
                        at += 1;
                    }
                    words.insert(count, start, at, kind);
                    count += 1;
                    at += 1;
                }
            }
            at = end + 1;
        }
        words
    }

    const fn insert(&mut self, count: usize, start: usize, end: usize, kind: Kind) {
        let len = end - start;
        assert!(len <= MAX_WORD && end <= u16::MAX as usize);
        let bucket = hash(WORDS_FILE[start], WORDS_FILE[start + len / 2], WORDS_FILE[end - 1], len);
        self.entries[count] = Entry { start: start as u16, len: len as u8, kind, previous: self.last[bucket] };
        self.last[bucket] = count as u16 + 1;
    }

    /// The words of this length with the same hash.
    #[inline]
    fn candidates(&self, len: usize, at: impl Fn(usize) -> u8) -> impl Iterator<Item = &Entry> {
        let first = match len {
            1..=MAX_WORD => self.last.get(hash(at(0), at(len / 2), at(len - 1), len)).copied().unwrap_or_default(),
            _ => 0,
        };
        let entry = |number: u16| self.entries.get(usize::from(number).wrapping_sub(1));
        let chain = std::iter::successors(entry(first), move |word| entry(word.previous));
        chain.filter(move |word| usize::from(word.len) == len)
    }
}

/// Fingerprints by their first three letters, then the fourth, then a bit for each fifth.
struct Fingerprints {
    rows: [[u32; CODES]; ROWS],
    row_of: [u16; CODES * CODES * CODES],
}

/// The letters that occur; a letter's code is its place, and zero stands for the end.
const LETTERS: &[u8; CODES] = b"\0&(),1:;ABCEFKNOSTUVX";
const CODES: usize = 21;
/// One for each beginning that occurs, and one for all others.
const ROWS: usize = 494;

const CODE_OF: [u8; 256] = {
    let mut codes = [0; 256];
    let mut code = 1;
    while code < CODES {
        let letter = LETTERS[code];
        codes[letter as usize] = code as u8;
        // Kinds that differ in case only are one in the table.
        codes[letter.to_ascii_lowercase() as usize] = code as u8;
        code += 1;
    }
    codes
};

impl Fingerprints {
    const fn read() -> Self {
        let mut table = Self { rows: [[0; CODES]; ROWS], row_of: [0; CODES * CODES * CODES] };
        let (mut rows, mut at) = (1, 0);
        while at < FINGERPRINTS_FILE.len() {
            let end = line_end(FINGERPRINTS_FILE, at);
            if FINGERPRINTS_FILE[at] != b'#' {
                rows = table.insert(at, end, rows);
            }
            at = end + 1;
        }
        assert!(rows == ROWS);
        table
    }

    /// Adds a line of the file; returns how many rows are in use.
    const fn insert(&mut self, start: usize, end: usize, mut rows: usize) -> usize {
        let mut codes = [0; 4];
        let mut len = 0;
        while start + len < end && len < 4 {
            codes[len] = CODE_OF[FINGERPRINTS_FILE[start + len] as usize] as usize;
            len += 1;
        }
        let beginning = Self::beginning(codes[0], codes[1], codes[2]);
        if self.row_of[beginning] == 0 {
            self.row_of[beginning] = rows as u16;
            rows += 1;
        }
        let bits = &mut self.rows[self.row_of[beginning] as usize][codes[3]];
        let mut fifth = start + 5;
        *bits |= (fifth >= end) as u32;
        while fifth < end {
            *bits |= 1 << CODE_OF[FINGERPRINTS_FILE[fifth] as usize];
            fifth += 1;
        }
        rows
    }

    const fn beginning(first: usize, second: usize, third: usize) -> usize {
        (first * CODES + second) * CODES + third
    }

    fn contains(&self, letters: &[u8]) -> bool {
        let mut codes = [0; 5];
        for (code, letter) in codes.iter_mut().zip(letters) {
            *code = usize::from(CODE_OF[usize::from(*letter)]);
            if *code == 0 {
                return false;
            }
        }
        let [first, second, third, fourth, fifth] = codes;
        // A code is below `CODES`, and `row_of` holds numbers of rows: no index is out of bounds.
        let row = usize::from(self.row_of[Self::beginning(first, second, third)]);
        self.rows[row][fourth] >> fifth & 1 == 1
    }
}
