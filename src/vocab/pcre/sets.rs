//! The sets of bytes that have a name in PCRE, in its "C" locale.

use crate::vocab::byte_set::ByteSet;

/// `\d`.
pub(super) const DIGIT: ByteSet = ByteSet::of(b"0123456789");

const LOWER: ByteSet = ByteSet::of(b"abcdefghijklmnopqrstuvwxyz");
const UPPER: ByteSet = ByteSet::of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ");
const ALPHA: ByteSet = LOWER.union(UPPER);
const ALNUM: ByteSet = ALPHA.union(DIGIT);

/// `\w`.
pub(super) const WORD: ByteSet = ALNUM.with(b'_');

/// `\s`: VT included.
pub(super) const SPACE: ByteSet = ByteSet::of(b" \t\n\x0b\x0c\r");

/// `\h`: blank, tab and the no-break space.
pub(super) const HORIZONTAL: ByteSet = ByteSet::of(b" \t\xa0");

/// `\v`: all that ends a line, and VT and FF.
pub(super) const VERTICAL: ByteSet = ByteSet::of(b"\n\x0b\x0c\r\x85");

/// `\N`, and the dot without `(?s)`.
pub(super) const DOT: ByteSet = ByteSet::of(b"\n").complement();

const ASCII: ByteSet = {
    let mut set = ByteSet::EMPTY;
    let mut byte = 0;
    while byte < 128 {
        set.insert(byte);
        byte += 1;
    }
    set
};
const CONTROL: ByteSet = {
    let mut set = ByteSet::of(b"\x7f");
    let mut byte = 0;
    while byte < 32 {
        set.insert(byte);
        byte += 1;
    }
    set
};
const PRINT: ByteSet = ASCII.minus(CONTROL);
const GRAPH: ByteSet = PRINT.minus(ByteSet::of(b" "));

/// The set of `[:name:]`.
pub(super) fn posix(name: &[u8]) -> Option<ByteSet> {
    Some(match name {
        b"alnum" => ALNUM,
        b"alpha" => ALPHA,
        b"ascii" => ASCII,
        b"blank" => ByteSet::of(b" \t"),
        b"cntrl" => CONTROL,
        b"digit" => DIGIT,
        b"graph" => GRAPH,
        b"lower" => LOWER,
        b"print" => PRINT,
        b"punct" => GRAPH.minus(ALNUM),
        b"space" => SPACE,
        b"upper" => UPPER,
        b"word" => WORD,
        b"xdigit" => ByteSet::of(b"0123456789abcdefABCDEF"),
        _ => return None,
    })
}
