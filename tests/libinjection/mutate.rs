//! Values made by chance from a seed: the same seed gives the same values on every machine.

use crate::corpus;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn of<'t, T: ?Sized>(&mut self, items: &[&'t T]) -> &'t T {
        items[self.below(items.len())]
    }
}

/// What may stand anywhere in an attack.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "'", "\"", "`", "\\", "''", "\\'", "(", ")", "{", "}", "[", "]", "<", ">", "=", "==", "!=", "<>", "<=>", "&&", "||",
    "&", "|", "!", "!!", "~", "+", "-", "*", "/", "%", "^", ":", "::", ":=", ",", ";", ".", "@", "@@", "$", "$$", "$a$",
    "$.", "#", "--", "-- ", "/*", "*/", "/*!", "/**/", "?", "\0", "\t", "\n", "\x0b", " ", " ", "0", "1", "1.5", "1e",
    "1e5", "0x", "0x1f", "0b1", "0b2", "1f", "1fu", ".5", "b'01'", "x'1f'", "n'a'", "q'(a)'", "nq'[a]'", "u&'a'",
    "e'\\''", "\\N", "a.b", "a`b", "a_b", "x", "sp_password", "<a ", "<b>", "</a>", "</", "/>", "<!--", "-->", "--!>",
    "<![CDATA[", "]]>", "<!doctype", "<?", "<%", "%>", "onload=", "onerror", " on", "href=", "src=", "style=", "xmlns:",
    "javascript:", "data:", "&#", "&#x6a;", "&#106", "&#10;", "attributename=", "\r", "\x0c", "$ab$",
];

const ODD_BYTES: [u8; 8] = [0, 0x0b, 0x7f, 0x80, 0xa0, 0xaa, 0xfe, 0xff];

/// Values of the corpus with one to four changes each.
pub(crate) fn mutations(corpus: &[Vec<u8>], seed: u64) -> impl Iterator<Item = Vec<u8>> {
    let mut random = Random(seed);
    let words = corpus::sql_words();
    std::iter::repeat_with(move || {
        let mut value = corpus.get(random.below(corpus.len())).cloned().unwrap_or_default();
        value.truncate(300);
        for _ in 0..=random.below(4) {
            mutate(&mut value, corpus, &words, &mut random);
        }
        value
    })
}

fn mutate(value: &mut Vec<u8>, corpus: &[Vec<u8>], words: &[&str], random: &mut Random) {
    let at = random.below(value.len() + 1);
    let end = at + random.below(8).min(value.len() - at);
    let insert = |value: &mut Vec<u8>, bytes: &[u8]| {
        value.splice(at..at, bytes.iter().copied());
    };
    match random.below(11) {
        0 => drop(value.drain(at..end)),
        1 => value.truncate(at),
        2 => drop(value.drain(..at)),
        3 => insert(value, random.of(PIECES).as_bytes()),
        4 => insert(value, random.of(words).as_bytes()),
        5 => insert(value, &[ODD_BYTES[random.below(8)]]),
        6 => insert(value, &[random.next() as u8]),
        7 => value[at..end].make_ascii_uppercase(),
        8 => drop(value.splice(at..end, random.of(PIECES).bytes()).count()),
        9 => {
            let part = value[at..end].to_vec();
            insert(value, &part);
        }
        _ => {
            let other = corpus.get(random.below(corpus.len())).map(Vec::as_slice).unwrap_or_default();
            let start = random.below(other.len());
            insert(value, &other[start..(start + 40).min(other.len())]);
        }
    }
}

/// Up to twelve pieces, words and names in a row, with white space between some.
pub(crate) fn soups(seed: u64) -> impl Iterator<Item = Vec<u8>> {
    let mut random = Random(!seed);
    let words = corpus::sql_words();
    let names: Vec<&str> = corpus::HTML_NAMES.split_ascii_whitespace().collect();
    std::iter::repeat_with(move || {
        let mut value = Vec::new();
        for _ in 0..=random.below(12) {
            let piece = match random.below(5) {
                0 | 1 => random.of(PIECES),
                2 | 3 => random.of(&words),
                _ => random.of(&names),
            };
            value.extend(piece.bytes());
            match random.below(4) {
                0 | 1 => value.push(b' '),
                2 if random.below(8) == 0 => value.push(ODD_BYTES[random.below(8)]),
                _ => {}
            }
        }
        value
    })
}

/// What the gate of `@detectSQLi` answers without reading it as SQL: letters, digits and `_`.
pub(crate) fn word_characters(seed: u64) -> impl Iterator<Item = Vec<u8>> {
    let keeps = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    gated(
        seed.rotate_left(1),
        keeps,
        &["0x", "0b", "0b1", "1e", "1f", "0", "9", "_", "union", "select", "or", "having"],
    )
}

/// What the gate of `@detectXSS` answers without reading it as HTML: anything without `<` and `=`.
pub(crate) fn without_markup(seed: u64) -> impl Iterator<Item = Vec<u8>> {
    let keeps = |byte: &u8| !matches!(byte, b'<' | b'=');
    gated(
        seed.rotate_left(2),
        keeps,
        &["onload", " href ", "javascript:", "script>", "\"", "'", "`", "/>", "!--", "?import"],
    )
}

fn gated(seed: u64, keeps: fn(&u8) -> bool, pieces: &'static [&'static str]) -> impl Iterator<Item = Vec<u8>> {
    let mut random = Random(seed);
    soups(seed).map(move |mut value| {
        value.retain(keeps);
        for _ in 0..random.below(4) {
            let at = random.below(value.len() + 1);
            value.splice(at..at, random.of(pieces).bytes());
        }
        value.truncate(5 + random.below(60));
        value
    })
}
