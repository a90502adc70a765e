//! `@containsWord`.

use memchr::memmem;

/// Whether the value holds the argument as a word: neither a letter, a digit nor `_` beside it. An empty argument
/// matches everything.
///
/// Example: `SecRule ARGS "@containsWord select"`.
pub(super) fn contains_word(argument: &[u8], value: &[u8]) -> bool {
    if argument.is_empty() {
        return true;
    }
    let finder = memmem::Finder::new(argument);
    let mut from = 0;
    // Occurrences may overlap, so the search goes on one byte further.
    while let Some(at) = value.get(from..).and_then(|rest| finder.find(rest)) {
        let start = from + at;
        let before = start.checked_sub(1).and_then(|place| value.get(place));
        let after = value.get(start + argument.len());
        if !before.is_some_and(is_word) && !after.is_some_and(is_word) {
            return true;
        }
        from = start + 1;
    }
    false
}

const fn is_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}
