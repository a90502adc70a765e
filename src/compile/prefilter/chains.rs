//! Lists of transformations as the prefilter's trees hold them: `lowercase` moved to the end and dropped there.

use super::name;
use crate::vocab::byte_set::ByteSet;
use crate::vocab::transformations::TRANSFORMATIONS;

/// The name of the transformation that moves.
const LOWERCASE: &str = "lowercase";

/// Does its own lower case: without any of the other bytes it looks at it is `lowercase`.
const CMD_LINE: &str = "cmdLine";

/// Give the same whether `lowercase` runs before or after them.
const COMMUTES: [&str; 11] = [
    "compressWhitespace",
    "normalizePath",
    "normalizePathWin",
    "removeComments",
    "removeCommentsChar",
    "removeNulls",
    "removeWhitespace",
    "replaceComments",
    "replaceNulls",
    "trim",
    "trimRight",
];

/// Never make a value longer.
const NEVER_LENGTHEN: [&str; 20] = [
    "base64Decode",
    "cmdLine",
    "compressWhitespace",
    "cssDecode",
    "escapeSeqDecode",
    "htmlEntityDecode",
    "jsDecode",
    "lowercase",
    "normalizePath",
    "normalizePathWin",
    "removeCommentsChar",
    "removeNulls",
    "removeWhitespace",
    "replaceComments",
    "replaceNulls",
    "sqlHexDecode",
    "trim",
    "trimLeft",
    "urlDecode",
    "urlDecodeUni",
];

/// Where in the trees the operator of a link looks.
pub(super) struct Stages {
    /// The transformations before each look.
    pub(super) chains: Vec<Vec<usize>>,
    /// Some looks are at the value as it is then.
    pub(super) as_is: bool,
    /// Some looks are at the value in lower case.
    pub(super) lower: bool,
}

impl Stages {
    /// One look, when all transformations are done.
    pub(super) fn last(path: &[usize]) -> Self {
        let (chain, lower) = canonical(path);
        Self { chains: vec![chain], as_is: !lower, lower }
    }

    /// A look before the first transformation and after each.
    pub(super) fn each(path: &[usize]) -> Self {
        let mut stages = Self { chains: Vec::new(), as_is: false, lower: false };
        for done in 0..=path.len() {
            let (chain, lower) = canonical(path.get(..done).unwrap_or(path));
            stages.as_is |= !lower;
            stages.lower |= lower;
            if !stages.chains.contains(&chain) {
                stages.chains.push(chain);
            }
        }
        stages
    }
}

/// The list without the `lowercase` that can wait until the end, and whether there was one.
fn canonical(path: &[usize]) -> (Vec<usize>, bool) {
    let mut chain = Vec::new();
    // The `lowercase` that waits.
    let mut waiting = None;
    for transformation in path {
        match name(*transformation) {
            LOWERCASE => waiting = Some(*transformation),
            CMD_LINE => {
                chain.push(*transformation);
                waiting = crate::vocab::transformations::find(LOWERCASE);
            }
            name => {
                if !COMMUTES.contains(&name) {
                    chain.extend(waiting.take());
                }
                chain.push(*transformation);
            }
        }
    }
    (chain, waiting.is_some())
}

/// The bytes that make a transformation of a tree act.
pub(super) fn triggers(transformation: usize) -> ByteSet {
    let all = TRANSFORMATIONS.get(transformation).map_or(ByteSet::ALL, |transformation| transformation.triggers);
    // The lower case of `cmdLine` waits as `lowercase` does.
    if name(transformation) == CMD_LINE { all.minus(ByteSet::of_range(b'A', b'Z')) } else { all }
}

/// The bytes that make it act on a value of two bytes or more.
pub(super) fn triggers_of_more_than_a_byte(transformation: usize) -> ByteSet {
    match name(transformation) {
        // A path of one segment stays as it is, unless that is a dot.
        "normalizePath" => ByteSet::of(b"/"),
        "normalizePathWin" => ByteSet::of(b"/\\"),
        _ => triggers(transformation),
    }
}

/// The least length of a value that the transformation can make `length` bytes of.
pub(super) fn least_input(transformation: usize, length: usize) -> usize {
    match name(transformation) {
        "base64Decode" => length.saturating_mul(4).div_ceil(3),
        name if NEVER_LENGTHEN.contains(&name) => length,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocab::transformations::{TransformationContext, find};
    use proptest::prelude::*;

    fn places(names: &[&str]) -> Vec<usize> {
        names.iter().map(|name| find(name).unwrap()).collect()
    }

    #[test]
    fn lowercase_waits_where_it_may() {
        let cases: [(&[&str], &[&str], bool); 7] = [
            (&[], &[], false),
            (&["lowercase"], &[], true),
            (&["urlDecodeUni", "lowercase"], &["urlDecodeUni"], true),
            (&["lowercase", "urlDecodeUni"], &["lowercase", "urlDecodeUni"], false),
            (&["lowercase", "removeNulls", "removeWhitespace"], &["removeNulls", "removeWhitespace"], true),
            (&["cmdLine", "normalizePath"], &["cmdLine", "normalizePath"], true),
            (&["cmdLine", "jsDecode"], &["cmdLine", "lowercase", "jsDecode"], false),
        ];
        for (written, chain, lower) in cases {
            assert_eq!(canonical(&places(written)), (places(chain), lower), "{written:?}");
        }
    }

    fn apply(path: &[usize], value: &[u8]) -> Vec<u8> {
        let context = TransformationContext::default();
        path.iter().fold(value.to_vec(), |value, place| {
            let mut out = Vec::new();
            if (TRANSFORMATIONS[*place].apply)(&value, &mut out, &context) { out } else { value }
        })
    }

    fn value() -> impl Strategy<Value = Vec<u8>> {
        let interesting = proptest::sample::select(b"%+u\\x09AFfn&#;<>!-*/. \t'\"[]=\0\xa0ZzQQ4=".to_vec());
        proptest::collection::vec(prop_oneof![4 => interesting, 1 => any::<u8>()], 0..40)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn what_commutes_does(value in value()) {
            let lowercase = find(LOWERCASE).unwrap();
            for name in COMMUTES.iter().chain([&CMD_LINE]) {
                let place = find(name).unwrap();
                prop_assert_eq!(apply(&[lowercase, place], &value), apply(&[place, lowercase], &value), "{}", name);
            }
        }

        #[test]
        fn two_bytes_without_triggers_stay(value in value()) {
            for place in 0..TRANSFORMATIONS.len() {
                let triggers = triggers_of_more_than_a_byte(place);
                let plain: Vec<u8> = value.iter().copied().filter(|byte| !triggers.contains(*byte)).collect();
                if plain.len() > 1 && name(place) != CMD_LINE {
                    prop_assert_eq!(apply(&[place], &plain), plain, "{}", name(place));
                }
            }
        }

        #[test]
        fn what_never_lengthens_does_not(value in value()) {
            for name in NEVER_LENGTHEN {
                let place = find(name).unwrap();
                let output = apply(&[place], &value);
                prop_assert!(value.len() >= least_input(place, output.len()), "{} {:?}", name, value);
            }
        }
    }
}
