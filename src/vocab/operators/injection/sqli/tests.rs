//! Tokens in the words of the C project's test data.

use super::lexer::{Dialect, Lexer};
use super::token::{Kind, Token};
use super::{Folder, lexicon};

/// A line a token.
pub(in super::super) fn print_tokens(input: &[u8]) -> Vec<u8> {
    let mut lexer = Lexer::new(input, None, Dialect::Ansi);
    let mut lines = Vec::new();
    while let Some(token) = lexer.next_token() {
        print(&mut lines, input, &token);
    }
    lines
}

/// A line a token that folding leaves.
pub(in super::super) fn print_folded(input: &[u8]) -> Vec<u8> {
    let folder = Folder::new(Lexer::new(input, None, Dialect::Ansi));
    let mut lines = Vec::new();
    for token in folder.tokens() {
        print(&mut lines, input, token);
    }
    lines
}

/// Whether the table of fingerprints has it.
pub(in super::super) fn is_listed(fingerprint: &str) -> bool {
    lexicon::is_injection(fingerprint.as_bytes())
}

fn print(lines: &mut Vec<u8>, input: &[u8], token: &Token<'_>) {
    lines.extend([token.kind.letter(), b' ']);
    if token.kind == Kind::Variable {
        // The text is a part of the input; the signs stand before it and its quote.
        let start = token.text.as_ptr() as usize - input.as_ptr() as usize - usize::from(token.open.is_some());
        lines.extend(input[..start].iter().rev().take_while(|byte| **byte == b'@').take(2));
    }
    let has_quotes = matches!(token.kind, Kind::String | Kind::Variable);
    lines.extend(token.open.filter(|_| has_quotes));
    lines.extend(token.text);
    lines.extend(token.close.filter(|_| has_quotes));
    lines.push(b'\n');
}

#[test]
fn words_are_found_in_any_case_and_phrases_by_their_words() {
    assert_eq!(lexicon::word(b"sElEcT"), Some(Kind::Expression));
    assert_eq!(lexicon::word(b"sys.fn_my_permissions"), Some(Kind::Function));
    assert_eq!(lexicon::word(b"union all distinct"), Some(Kind::Union));
    assert_eq!(lexicon::word(b"selec"), None);
    assert_eq!(lexicon::word(b""), None);
    assert_eq!(lexicon::phrase(b"at time", b"zone"), Some((Kind::Keyword, &b"AT TIME ZONE"[..])));
    assert_eq!(lexicon::phrase(b"at", b"time zone"), Some((Kind::Keyword, &b"AT TIME ZONE"[..])));
    assert_eq!(lexicon::phrase(b"a", b"b"), None);
    assert_eq!(lexicon::phrase(b"", b"select"), None);
}

#[test]
fn the_tables_hold_what_their_files_list() {
    let words = include_str!("../data/words.txt").lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for (kind, word) in words.flat_map(|line| line[2..].split('|').map(|word| (line.as_bytes()[0], word))) {
        assert_eq!(lexicon::word(word.as_bytes()), Kind::of_word(kind), "{word}");
        count += 1;
    }
    assert_eq!(count, 960);

    let mut count = 0;
    for line in include_str!("../data/fingerprints.txt").lines().filter(|line| !line.starts_with('#')) {
        let (beginning, ends) = line.split_once(' ').unwrap_or((line, ""));
        let all = "&(),1:;ABCEFKNOSTUVX".chars().map(|end| format!("{beginning}{end}"));
        if ends.is_empty() {
            assert!(lexicon::is_injection(beginning.as_bytes()), "{line}");
            count += 1;
            continue;
        }
        for fingerprint in all {
            let is_listed = ends.contains(&fingerprint[4..]);
            assert_eq!(lexicon::is_injection(fingerprint.as_bytes()), is_listed, "{fingerprint}");
            assert_eq!(lexicon::is_injection(fingerprint.to_lowercase().as_bytes()), is_listed, "{fingerprint}");
            count += usize::from(is_listed);
        }
    }
    assert_eq!(count, 8_367);
    assert!(!lexicon::is_injection(b""));
    assert!(!lexicon::is_injection(b"1?"));
}
