//! The transformations (`t:lowercase`, `t:urlDecodeUni`, …): one file each (or each family) below `transformations/`,
//! one row each in [`TRANSFORMATIONS`].
//!
//! Knows no rule, no variable and no operator. Where SecLang engines differ these follow ModSecurity 2, the engine
//! the CRS is written for, unless the function says otherwise.

mod base64;
mod bytes;
mod case;
mod cmd_line;
mod comments;
mod css_decode;
mod digest;
mod escape_seq_decode;
mod hex;
mod html_entity_decode;
mod js_decode;
mod length;
mod normalize_path;
mod parity;
mod php_args_names;
mod sql_hex_decode;
mod trim;
mod unicode_map;
mod url_decode;
mod url_encode;
mod utf8_to_unicode;
mod whitespace;

pub use unicode_map::UnicodeMap;

use super::byte_set::ByteSet;

/// What transformations may need beside the value.
#[derive(Clone, Default, Debug)]
pub struct TransformationContext {
    /// The code page map of `SecUnicodeMapFile`, used by `urlDecodeUni`; without one `%uHHHH` gives its low byte.
    pub unicode_map: Option<std::sync::Arc<UnicodeMap>>,
}

/// Writes the transformed value to `output` (which is empty) and returns whether it differs from `input`. When it
/// returns `false`, `output` may hold anything.
pub type Apply = fn(input: &[u8], output: &mut Vec<u8>, context: &TransformationContext) -> bool;

/// A row of the table.
pub struct Transformation {
    /// The name in its usual spelling.
    pub name: &'static str,
    /// The function.
    pub apply: Apply,
    /// A value without any of these bytes stays as it is.
    pub triggers: ByteSet,
}

const fn row(name: &'static str, apply: Apply, triggers: ByteSet) -> Transformation {
    Transformation { name, apply, triggers }
}

const WIDE_SPACE: ByteSet = ByteSet::of(b" \t\n\x0b\x0c\r\xa0");
const SPACE: ByteSet = ByteSet::of(b" \t\n\x0b\x0c\r");
const UPPER: ByteSet = ByteSet::of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ");
const LOWER: ByteSet = ByteSet::of(b"abcdefghijklmnopqrstuvwxyz");
const ASCII: ByteSet = ByteSet::of_range(0, 0x7f);
/// What `cmdLine` looks at.
const SHELL: ByteSet = UPPER.union(ByteSet::of(b"\"'\\^ ,;\t\r\n"));
/// What `urlEncode` leaves alone.
const PLAIN: ByteSet = UPPER.union(LOWER).union(ByteSet::of(b"*0123456789"));

/// Every transformation there is (without `none`), sorted by name without regard to case. A transformation's place
/// here is its identity in compiled rules.
pub const TRANSFORMATIONS: &[Transformation] = &[
    row("base64Decode", base64::decode, ByteSet::ALL),
    row("base64DecodeExt", base64::decode_ext, ByteSet::ALL),
    row("base64Encode", base64::encode, ByteSet::ALL),
    row("cmdLine", cmd_line::apply, SHELL),
    row("compressWhitespace", whitespace::compress, WIDE_SPACE),
    row("cssDecode", css_decode::apply, ByteSet::of(b"\\")),
    row("escapeSeqDecode", escape_seq_decode::apply, ByteSet::of(b"\\")),
    row("hexDecode", hex::decode, ByteSet::ALL),
    row("hexEncode", hex::encode, ByteSet::ALL),
    row("htmlEntityDecode", html_entity_decode::apply, ByteSet::of(b"&")),
    row("jsDecode", js_decode::apply, ByteSet::of(b"\\")),
    row("length", length::apply, ByteSet::ALL),
    row("lowercase", case::lower, UPPER),
    row("md5", digest::md5, ByteSet::ALL),
    row("normalizePath", normalize_path::apply, ByteSet::of(b"./")),
    row("normalizePathWin", normalize_path::apply_win, ByteSet::of(b"./\\")),
    row("parityEven7bit", parity::even, ByteSet::ALL),
    row("parityOdd7bit", parity::odd, ByteSet::ALL),
    row("parityZero7bit", parity::zero, ASCII.complement()),
    row("phpArgsNames", php_args_names::apply, ByteSet::of(b" .[")),
    row("removeComments", comments::remove, ByteSet::of(b"/<-#")),
    row("removeCommentsChar", comments::remove_char, ByteSet::of(b"*-#")),
    row("removeNulls", bytes::remove_nulls, ByteSet::of(b"\0")),
    row("removeWhitespace", whitespace::remove, WIDE_SPACE),
    row("replaceComments", comments::replace, ByteSet::of(b"*")),
    row("replaceNulls", bytes::replace_nulls, ByteSet::of(b"\0")),
    row("sha1", digest::sha1, ByteSet::ALL),
    row("sqlHexDecode", sql_hex_decode::apply, ByteSet::of(b"xX")),
    row("trim", trim::both, SPACE),
    row("trimLeft", trim::left, SPACE),
    row("trimRight", trim::right, SPACE),
    row("uppercase", case::upper, LOWER),
    row("urlDecode", url_decode::apply, ByteSet::of(b"%+")),
    row("urlDecodeUni", url_decode::apply_uni, ByteSet::of(b"%+")),
    row("urlEncode", url_encode::apply, PLAIN.complement()),
    row("utf8toUnicode", utf8_to_unicode::apply, ASCII.complement()),
];

/// Other spellings in use, with the name of the row meant.
pub const ALIASES: &[(&str, &str)] = &[("normalisePath", "normalizePath"), ("normalisePathWin", "normalizePathWin")];

/// The place in [`TRANSFORMATIONS`] of the one with this name (any case; `normalise…` spellings included).
///
/// ```
/// use portcullis::vocab::transformations::{TRANSFORMATIONS, TransformationContext, find};
///
/// let place = find("urldecode").unwrap();
/// let mut output = Vec::new();
/// assert!((TRANSFORMATIONS[place].apply)(b"a%20b", &mut output, &TransformationContext::default()));
/// assert_eq!(output, b"a b");
/// ```
pub fn find(name: &str) -> Option<usize> {
    let alias = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
    let name = alias.map_or(name, |(_, meant)| meant);
    TRANSFORMATIONS.iter().position(|entry| entry.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_table_is_sorted_and_its_names_are_unique() {
        let names: Vec<_> = TRANSFORMATIONS.iter().map(|entry| entry.name.to_ascii_lowercase()).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        assert_eq!(names.len(), 36);
    }

    #[test]
    fn every_alias_names_a_row() {
        for (alias, meant) in ALIASES {
            assert_eq!(find(alias), find(meant));
            assert!(find(alias).is_some());
        }
        assert_eq!(find("NORMALISEPATH"), find("normalizePath"));
        assert_eq!(find("none"), None);
    }

    /// Bytes that the decoders look for turn up often enough to reach their branches.
    fn value() -> impl Strategy<Value = Vec<u8>> {
        let interesting =
            proptest::sample::select(b"%+u\\x0123456789abcdefFn&#;<>!-*/. \t\r\n\"'[]_=\0\xa0\xc2\xff".to_vec());
        proptest::collection::vec(prop_oneof![4 => interesting, 1 => any::<u8>()], 0..64)
    }

    /// Transformations that look for "nothing to do" first: text that leaves them something to do, and what it becomes.
    const TRIGGERS: [(&str, &str, &str); 14] = [
        ("cmdLine", "x^", "x"),
        ("compressWhitespace", "x\t", "x "),
        ("lowercase", "A", "a"),
        ("normalizePath", "/x//y", "/x/y"),
        ("normalizePathWin", "/x\\y", "/x/y"),
        ("removeNulls", "\0", ""),
        ("removeWhitespace", " ", ""),
        ("replaceNulls", "\0", " "),
        ("trim", "x ", "x"),
        ("trimRight", "x ", "x"),
        ("uppercase", "a", "A"),
        ("urlDecode", "x%41", "xA"),
        ("urlDecodeUni", "x%41", "xA"),
        ("utf8toUnicode", "\u{e9}", "%u00e9"),
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// "Changed" is never said of a value that stayed the same.
        #[test]
        fn the_result_says_whether_the_value_changed(input in value()) {
            let with_map = TransformationContext {
                unicode_map: Some(std::sync::Arc::new(UnicodeMap::code_page_20127())),
            };
            for context in [TransformationContext::default(), with_map] {
                for entry in TRANSFORMATIONS {
                    let mut output = Vec::new();
                    let changed = (entry.apply)(&input, &mut output, &context);
                    if changed {
                        prop_assert_ne!(&output, &input, "{}", entry.name);
                    }
                }
            }
        }

        /// Without a trigger nothing changes; what an empty value becomes is not said by its bytes.
        #[test]
        fn a_value_without_triggers_stays(input in value()) {
            let context = TransformationContext::default();
            for entry in TRANSFORMATIONS {
                let plain: Vec<u8> = input.iter().copied().filter(|byte| !entry.triggers.contains(*byte)).collect();
                if !plain.is_empty() {
                    prop_assert!(!(entry.apply)(&plain, &mut Vec::new(), &context), "{} {:?}", entry.name, plain);
                }
            }
        }

        /// "Unchanged" is only said of a value that stays the same: with something to do behind it, all of it still
        /// comes out as it went in.
        #[test]
        fn what_is_said_to_be_unchanged_is(input in value()) {
            let context = TransformationContext::default();
            for (name, trigger, image) in TRIGGERS {
                let apply = TRANSFORMATIONS[find(name).unwrap()].apply;
                let joined = |text: &str| [input.as_slice(), text.as_bytes()].concat();
                // A slash at the end would melt into the trigger's.
                if input.ends_with(b"/") || apply(&input, &mut Vec::new(), &context) {
                    continue;
                }
                let mut output = Vec::new();
                prop_assert!(apply(&joined(trigger), &mut output, &context), "{}", name);
                prop_assert_eq!(&output, &joined(image), "{}", name);
            }
        }
    }
}
