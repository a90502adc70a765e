//! `@pm` and `@pmFromFile`: many phrases looked for at once, ASCII letters of either case alike.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::{BuildContext, BuildError, Captures, MatchLimit, Matcher};
use crate::vocab::necessary::Necessary;

#[derive(Debug)]
struct Phrases(AhoCorasick);

/// Matches when the value holds one of the phrases.
///
/// Argument: phrases with blanks between them, perhaps all in one pair of double quotes; `|42 43|` stands for the
/// bytes with these numbers. TX.0 is the phrase that ends first, as it stands in the value.
///
/// Example: `SecRule ARGS "@pm select union insert"`.
pub(super) fn build(argument: &[u8], context: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    let argument = match argument.trim_ascii() {
        [b'"', quoted @ .., b'"'] => quoted,
        plain => plain,
    };
    compile(&split(argument), context)
}

/// Matches when the value holds one of the phrases of a file.
///
/// Argument: one or more file names. A file has one phrase a line: blanks at its end are cut, blanks before it belong
/// to it (CRS needs that in two places); empty lines and lines whose first character is `#` are left out.
///
/// Example: `SecRule ARGS "@pmFromFile sql-errors.data"`.
pub(super) fn build_from_file(argument: &[u8], context: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    let mut phrases = Vec::new();
    for name in argument.split(u8::is_ascii_whitespace).filter(|name| !name.is_empty()) {
        let text = context.data_file(&String::from_utf8_lossy(name)).map_err(BuildError::new)?;
        let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
        phrases.extend(lines.filter(|line| !matches!(line.trim_ascii_start(), [] | [b'#', ..])).map(<[u8]>::to_vec));
    }
    compile(&phrases, context)
}

impl Matcher for Phrases {
    fn is_match(&self, value: &[u8], captures: Option<&mut Captures>) -> Result<bool, MatchLimit> {
        let Some(captures) = captures else { return Ok(self.0.is_match(value)) };
        let Some(found) = self.0.find(value) else { return Ok(false) };
        captures.clear();
        captures.push(value.get(found.range()).unwrap_or_default());
        Ok(true)
    }
}

fn compile(phrases: &[Vec<u8>], context: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    if phrases.is_empty() {
        return Err(BuildError::new("there is no phrase to look for"));
    }
    if context.wants_necessary() {
        context.take_necessary(Necessary::one_of(phrases));
    }
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        // A tenth of the memory of a DFA for an eighth of its speed.
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(phrases)
        .map_err(|error| BuildError::new(format!("the phrases are too many: {error}")))?;
    Ok(Box::new(Phrases(automaton)))
}

/// Splits at blanks outside of `|…|`, whose bytes it decodes.
fn split(argument: &[u8]) -> Vec<Vec<u8>> {
    let mut phrases = vec![Vec::new()];
    let mut rest = argument;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        if let (b'|', Some((bytes, after))) = (byte, coded(tail)) {
            phrases.last_mut().into_iter().for_each(|phrase| phrase.extend_from_slice(&bytes));
            rest = after;
        } else if byte.is_ascii_whitespace() {
            phrases.push(Vec::new());
        } else {
            phrases.last_mut().into_iter().for_each(|phrase| phrase.push(*byte));
        }
    }
    phrases.retain(|phrase| !phrase.is_empty());
    phrases
}

/// The bytes written up to the closing bar and what follows it; `None` where the bar stands for itself, because what
/// follows are not pairs of hexadecimal digits.
fn coded(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (inside, rest) = text.split_at(memchr::memchr(b'|', text)?);
    let words = inside.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let bytes: Option<Vec<_>> = words.map(hex_bytes).collect();
    let bytes = bytes?.concat();
    (!bytes.is_empty()).then(|| (bytes, rest.get(1..).unwrap_or_default()))
}

fn hex_bytes(digits: &[u8]) -> Option<Vec<u8>> {
    let nibbles: Option<Vec<_>> = digits.iter().map(|digit| char::from(*digit).to_digit(16)).collect();
    let nibbles = nibbles?;
    let (pairs, odd) = nibbles.as_chunks();
    odd.is_empty().then(|| pairs.iter().map(|[high, low]| (high * 16 + low) as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Context, captured, matcher};
    use super::*;

    #[test]
    fn arguments_are_split_and_decoded() {
        let cases: [(&[u8], &[&[u8]]); 6] = [
            (b" a  b\tc ", &[b"a", b"b", b"c"]),
            (b"A|42 43|D e", &[b"ABCD", b"e"]),
            (b"|00||20|x", &[b"\0 x"]),
            (b"a||b | |c|", &[b"a||b", b"|", b"|c|"]),
            (b"|xy| |4", &[b"|xy|", b"|4"]),
            (b"|0d0a|", &[b"\r\n"]),
        ];
        for (argument, phrases) in cases {
            assert_eq!(split(argument), phrases, "{}", argument.escape_ascii());
        }
    }

    #[test]
    fn an_empty_list_is_an_error() {
        assert_eq!(matcher("pm", b" ").unwrap_err().message, "there is no phrase to look for");
    }

    #[test]
    fn the_capture_is_the_phrase_as_in_the_value() {
        assert_eq!(captured("pm", b"\"select union\"", b"xUnIoNselect"), Some(vec![b"UnIoN".to_vec()]));
        assert_eq!(captured("pm", b"abcd bc", b"xabcd"), Some(vec![b"bc".to_vec()]));
        assert_eq!(captured("pm", b"abcd", b"abc"), None);
    }

    #[test]
    fn lines_of_a_file_keep_their_leading_blank() {
        let mut context = Context { file: b"# one\n  # two\n lead\r\n\n  \nc#d  \nc#d\n", ..Context::default() };
        let phrases = build_from_file(b"file", &mut context).unwrap();
        for (value, expected) in [("lead", false), ("a LEAD", true), ("xC#D", true), ("two", false), ("", false)] {
            assert_eq!(phrases.is_match(value.as_bytes(), None), Ok(expected), "{value}");
        }
    }
}
