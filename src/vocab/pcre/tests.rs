//! What patterns mean, by example.

use proptest::prelude::*;
use regex_automata::Input;

use super::*;

/// `pattern` finds, in `value`, the match and groups `expected`; `-` stands for a group without part, `None` for no
/// match.
#[track_caller]
fn check(pattern: &[u8], value: &[u8], expected: Option<&[&[u8]]>) {
    let compiled =
        Pattern::new(pattern, 100_000).unwrap_or_else(|error| panic!("{}: {error:?}", pattern.escape_ascii()));
    let mut groups = Groups::default();
    let found = compiled.find_at(value, 0, &mut groups).unwrap();
    let texts: Vec<&[u8]> =
        groups.up_to_last().map(|group| group.map_or(&b"-"[..], |(start, end)| &value[start..end])).collect();
    assert_eq!(found.then_some(texts.as_slice()), expected, "{} on {}", pattern.escape_ascii(), value.escape_ascii());
    assert_eq!(compiled.is_match(value).unwrap(), found);
}

#[track_caller]
fn check_linear(pattern: &[u8], linear: bool) {
    let compiled =
        Pattern::new(pattern, 100_000).unwrap_or_else(|error| panic!("{}: {error:?}", pattern.escape_ascii()));
    assert_eq!(compiled.is_linear(), linear, "{}", pattern.escape_ascii());
}

#[test]
fn bytes_are_bytes() {
    check(br"\x{e2}\x80\x99", b"a\xe2\x80\x99b", Some(&[b"\xe2\x80\x99"]));
    check(br"\x{e2}", "â".as_bytes(), None);
    check("[’]".as_bytes(), b"\x80", Some(&[b"\x80"]));
    check(br"[^\x{80}-\x{ff}]", b"\xff\x7f", Some(&[b"\x7f"]));
    check(b"(?i)\xc4", b"\xe4", None);
    check(b"(?i)k", "\u{212a}".as_bytes(), None);
    check(br"a.c", b"a\xffc", Some(&[b"a\xffc"]));
    check(br"\x4\x", b"\x04\0", Some(&[b"\x04\0"]));
    check(br"\0\01\011\o{101}\cA\e", b"\0\x01\x09A\x01\x1b", Some(&[b"\0\x01\x09A\x01\x1b"]));
}

#[test]
fn named_sets_are_those_of_pcre() {
    check(br"\s+", b"x \t\n\x0b\x0c\r\x85\xa0", Some(&[b" \t\n\x0b\x0c\r"]));
    check(br"\v+", b"x\t\n\x0b\x0c\r\x85\xa0", Some(&[b"\n\x0b\x0c\r\x85"]));
    check(br"[\v]", b"\x85", Some(&[b"\x85"]));
    check(br"\h+", b"\n \t\xa0\x0b", Some(&[b" \t\xa0"]));
    check(br"\w+", b"-az_AZ09\xe9", Some(&[b"az_AZ09"]));
    check(br"\D\W\S\H\V", b"1a-xyz", Some(&[b"a-xyz"]));
    check(br"\N+", b"ab\nc", Some(&[b"ab"]));
    check(br"[[:alpha:][:digit:]]+", b"-a1Z_", Some(&[b"a1Z"]));
    check(br"[[:^space:]]+", b" ab ", Some(&[b"ab"]));
    check(br"(?i)[[:upper:]]", b"a", Some(&[b"a"]));
    check(br"[[:punct:]]+", b"a!~\x7f", Some(&[b"!~"]));
}

#[test]
fn classes_hold_what_other_engines_trip_over() {
    check(br"[a[b]+", b"x[ba", Some(&[b"[ba"]));
    check(br"[[:word]+", b"w:d[", Some(&[b"w:d["]));
    check(br"[a&&~~]+", b"b&~a~&b", Some(&[b"&~a~&"]));
    check(br"[]a]+", b"a]", Some(&[b"a]"]));
    check(br"[^]a]", b"a]b", Some(&[b"b"]));
    check(br"[\<\>]+\<\>", b"<><>", Some(&[b"<><>"]));
    check(br"[a-\d]+", b"-a5b", Some(&[b"-a5"]));
    check(br"[\w-.]+", b"a-.b", Some(&[b"a-.b"]));
    check(br"[a-]+", b"-a", Some(&[b"-a"]));
    check(br"[+--]+", b"+,-", Some(&[b"+,-"]));
    check(br"[\b\Q]^\E\-]+", b"\x08]^-", Some(&[b"\x08]^-"]));
    check(br"[\x00-\xff]", b"\xff", Some(&[b"\xff"]));
    check(br"(?i)[^a-c]+", b"aBcD", Some(&[b"D"]));
    check(br"[^\x00-\xff]", b"abc", None);
}

#[test]
fn braces_and_quotes_are_literal_where_they_must_be() {
    check(br"a{,2}", b"a{,2}", Some(&[b"a{,2}"]));
    check(br"{x}", b"{x}", Some(&[b"{x}"]));
    check(br"$\{a{2}{", b"aa", None);
    check(br"\${a}", b"${a}", Some(&[b"${a}"]));
    check(br"a{2,3}b{1}c{2,}", b"aaabcc", Some(&[b"aaabcc"]));
    check(br"\Qa.b*\E+", b"a.b**", Some(&[b"a.b**"]));
    check(br"\Q(|", b"(|", Some(&[b"(|"]));
    check(br"a\Q\Eb\E?", b"a", Some(&[b"a"]));
}

#[test]
fn anchors_hold_at_the_very_ends() {
    check(br"a$", b"a\n", None);
    check(br"^b", b"a\nb", None);
    check(br"a\Z", b"a\n", Some(&[b"a"]));
    check(br"a\z", b"a\n", None);
    check(br"\Ab\B", b"bc", Some(&[b"b"]));
    check(br"(?m)^b$", b"a\nb\nc", Some(&[b"b"]));
    check(br"(?m)a$", b"a\n", Some(&[b"a"]));
    // Behind the last line feed there is no line.
    check(br"(?m)\n^", b"a\n", None);
    check(br"(?m)\n^", b"a\nb", Some(&[b"\n"]));
    check(br"(?-s)a.b|c", b"a\nbc", Some(&[b"c"]));
    check(br"\bx\b", b"axb \xe9x\xe9", Some(&[b"x"]));
}

#[test]
fn flags_last_to_the_end_of_their_group() {
    check(br"a(?i)b|c", b"C", Some(&[b"C"]));
    check(br"(a(?i)b)c", b"aBC", None);
    check(br"(?i:a)b", b"AB", None);
    check(br"(?i)a(?-i)b", b"Ab", Some(&[b"Ab"]));
    check(b"(?x) a b # c\n d [ ]", b"abd ", Some(&[b"abd "]));
    check(br"(?U)a+", b"aaa", Some(&[b"a"]));
    check(br"(?U)a+?", b"aaa", Some(&[b"aaa"]));
    check(br"a(?#comment)+", b"aaa", Some(&[b"aaa"]));
}

#[test]
fn groups_and_references_are_numbered_by_their_opening() {
    check(br"(a)(?<n>b)(?:c)(?P<m>d)(?'o'e)", b"abcde", Some(&[b"abcde", b"a", b"b", b"d", b"e"]));
    check(br"(a|b)\1", b"abb", Some(&[b"bb", b"b"]));
    check(br"(?i)(a|b)\1", b"abB", Some(&[b"bB", b"b"]));
    check(br"(?<q>['\x22]).*?\k<q>", b"x'y\"'z", Some(&[b"'y\"'", b"'"]));
    check(br"(.)(.)\g{-1}\g1", b"abba", Some(&[b"abba", b"a", b"b"]));
    check(br"(?P<x>\xff)(?P=x)", b"\xff\xff", Some(&[b"\xff\xff", b"\xff"]));
    check(br"(?:\2b|(x)(y))+", b"xyyb", Some(&[b"xyyb", b"x", b"y"]));
    // Ten groups make `\10` a reference, fewer make it octal.
    check(br"()()()()()()()()()(z)\10", b"zz", Some(&[b"zz", b"", b"", b"", b"", b"", b"", b"", b"", b""]));
    check(br"(z)\10", b"z\x08", Some(&[b"z\x08", b"z"]));
}

#[test]
fn look_around_works_on_bytes() {
    check(br"(?<=\xc3)\xa9", "é".as_bytes(), Some(&[b"\xa9"]));
    check(br"(?<!\xc3)\xa9", "é".as_bytes(), None);
    check(br"a(?!b)", b"abac", Some(&[b"a"]));
    check(br"foo\Kbar", b"foobar", Some(&[b"bar"]));
    check(br"(?=(.)).", b"\xff", Some(&[b"\xff", b"\xff"]));
    check(br"(?:(?!b))+(?=a)*.", b"ba", Some(&[b"a"]));
    check(br"(?=a)[^\x80-\x8f]\b", b"a\xff", Some(&[b"a"]));
}

#[test]
fn possessive_parts_keep_what_they_took() {
    check(br"a*+a", b"aaa", None);
    check(br"(?>a|ab)c", b"abc", None);
    check(br"a?+a", b"a", None);
    check(br"a?+a", b"aa", Some(&[b"aa"]));
    check(br"\s*+[^;]+;", b"  x;", Some(&[b"  x;"]));
    check(br"^\s*+[^;]+;", b"  ;", None);
    check(br"^\s*+(?:[^;]{2}|\d|(\s)x);", b"  ab;", Some(&[b"  ab;"]));
    check(br"^(?:a*+b?)*c", b"aabac", Some(&[b"aabac"]));
    check(br"^(?:\s*+;\s*+(?:x|[^y]z|;?))*$", b" ; zz;; ", Some(&[b" ; zz;; "]));
    check(br"^(?:\s*+;\s*+(?:x|[^y]z|;?))*$", b" ; zz ; x;; ;", Some(&[b" ; zz ; x;; ;"]));
    check(br"^(?:\s*+;\s*+(?:x|[^y]z|;?))*$", b"; z", None);
    check(br"['b]++\B[']*c", b"b''c", None);
    check(br"(?:\Z)+a?(?:\b)*x", b"", None);
    check(br"\R.", b"\r\n", None);
    check(br"a\Rb", b"a\r\nb", Some(&[b"a\r\nb"]));
    check(br"\d++$", b"a123", Some(&[b"123"]));
    check(br"(\d)++x", b"12x", Some(&[b"12x", b"2"]));
    check(br"a{2,3}+a", b"aaa", None);
    check(br"a{2,3}+a", b"aaaa", Some(&[b"aaaa"]));
}

#[test]
fn what_is_regular_goes_to_the_linear_engine() {
    for pattern in [
        &br"\s*+;\s*+x"[..],
        br"[^;]++$",
        br"a*+b?",
        br"\s*+[^;]+;",
        br"(?:a*+b)+",
        br"(?>abc|abd)x",
        br"a\Rb",
        br"(?m)^a",
        br"(a|b){2,3}\b",
        br"a++",
        br"[^a]++\s*?['x]*?\s*?a",
        br"(?:\s*+;\s*+(?:x|[^y]z|;?))*$",
    ] {
        check_linear(pattern, true);
    }
    for pattern in [
        &br"(?=a)"[..],
        br"(a)\1",
        br"a*+a?\b",
        br"(?>a|ab)c",
        br"a?+a",
        br"\Z",
        br"(?m)^",
        br"(?m)^$",
        br"(?:a*+){2}a",
        br"(?:a*+a?){2}b?\b",
        br"\R.",
    ] {
        check_linear(pattern, false);
    }
}

#[test]
fn errors_name_the_construct_and_its_place() {
    for (pattern, message, offset) in [
        (&br"ab(cd"[..], "`(cd` is never closed", Some(2)),
        (br"ab)", "`)` without a `(` before it", Some(2)),
        (br"a[b", "`[b` is never closed", Some(1)),
        (br"*a", "quantifier without anything to repeat", Some(0)),
        (br"a**", "quantifier without anything to repeat", Some(2)),
        (br"(?i)*", "quantifier without anything to repeat", Some(4)),
        (br"a{3,2}", "numbers of a repetition out of order or too big", Some(1)),
        (br"a{70000}", "numbers of a repetition out of order or too big", Some(1)),
        (br"a\", "`\\` at the end", Some(1)),
        (br"x\p{L}", "escape `\\\\p` is not supported", Some(1)),
        (br"x\i", "escape `\\\\i` is not supported", Some(1)),
        (br"[a\i]", "escape `\\\\i` is not supported", Some(2)),
        (br"\x{100}", "number beyond one byte", Some(0)),
        (br"\x{zz}", "escape `\\\\x{zz}` is not supported", Some(0)),
        (br"\777", "number beyond one byte", Some(0)),
        (br"(?R)", "recursion `(?R` is not supported", Some(0)),
        (br"a(?1)", "recursion `(?1` is not supported", Some(1)),
        (br"(?P>x)", "recursion `(?P>` is not supported", Some(0)),
        (br"(?|a)", "branch reset `(?|` is not supported", Some(0)),
        (br"(a)(?(1)b)", "conditional group `(?(` is not supported", Some(3)),
        (br"(*UTF8)a", "verb `(*U` is not supported", Some(0)),
        (br"(?y)", "group `(?y` is not supported", Some(0)),
        (br"[z-a]", "range `z-a` is out of order", Some(1)),
        (br"[[:foo:]]", "class `[:foo:]` is not supported", Some(1)),
        (br"[[.a.]]", "class `[.a.]` is not supported", Some(1)),
        (br"\2(a)", "reference to a group that is not there", Some(0)),
        (br"\k<x>", "reference to a group `x` that is not there", Some(0)),
        (br"(?<1>a)", "`1` is no name for a group", Some(0)),
        (br"((a{1000}){1000}){1000}", "the pattern is too big, its repetitions multiplied", None),
    ] {
        let error = Pattern::new(pattern, 1_000).expect_err(&pattern.escape_ascii().to_string());
        assert_eq!((error.message.as_str(), error.offset), (message, offset), "{}", pattern.escape_ascii());
        assert!(error.help.is_some());
    }
    assert_eq!(Pattern::new(&b"(".repeat(251), 1_000).unwrap_err().message, "groups nested too deeply");
    assert!(Pattern::new(&[b"(".repeat(250), b")".repeat(250)].concat(), 1_000).is_ok());
}

/// Patterns over few letters, with every condition, and values that often match them.
fn regular_pattern() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        "[ab_\\n]{1,3}",
        proptest::sample::select(vec![
            "[ab]", "[^a]", ".", "\\b", "\\B", "^", "$", "\\A", "\\z", "\\s", "\\w", "(?m)^", "(?m)$"
        ])
        .prop_map(str::to_owned),
    ];
    atom.prop_recursive(5, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            (proptest::collection::vec(inner.clone(), 1..4), 0usize..8).prop_map(|(mut parts, empty)| {
                // Some with a branch that takes nothing, at any place.
                if empty <= parts.len() {
                    parts.insert(empty, String::new());
                }
                format!("(?:{})", parts.join("|"))
            }),
            (
                inner.clone(),
                proptest::sample::select(vec!["?", "*", "+", "{2}", "{0,2}", "{1,3}", "{2,}", "*?", "+?", "??", "{0}"])
            )
                .prop_map(|(part, times)| format!("(?:{part}){times}")),
            inner.prop_map(|part| format!("({part})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn the_automaton_finds_what_the_other_engine_finds(
        pattern in regular_pattern(), values in proptest::collection::vec("[ab_c \\n]{0,14}", 1..6)
    ) {
        let Ok(node) = parser::parse(pattern.as_bytes()) else { return Ok(()) };
        let Some(node) = regular::regular(&node) else { return Ok(()) };
        let (Some(automaton), Ok(other)) = (automaton::Automaton::new(&node), linear::compile(&node)) else {
            return Ok(());
        };
        // With a table of hardly any rows nearly all is followed step by step.
        let bare = automaton::Automaton::with_table_bytes(&node, 1).unwrap();
        for value in values {
            let expected = other.is_match(value.as_bytes());
            prop_assert_eq!(automaton.is_match(value.as_bytes()), expected, "{} {:?}", &pattern, &value);
            prop_assert_eq!(bare.is_match(value.as_bytes()), expected, "{} {:?}, bare", &pattern, &value);
            let start = other.find(value.as_bytes()).map(|found| found.start());
            for automaton in [&automaton, &bare] {
                let floor = automaton.floor(value.as_bytes());
                prop_assert!(floor.is_some() == start.is_some() && floor <= start, "{} {:?}", &pattern, &value);
            }
        }
    }

    #[test]
    fn places_and_groups_are_those_of_the_other_engine(
        pattern in regular_pattern(), values in proptest::collection::vec("[ab_c \\n]{0,14}", 1..6)
    ) {
        let Ok(node) = parser::parse(pattern.as_bytes()) else { return Ok(()) };
        let Some(node) = regular::regular(&node) else { return Ok(()) };
        let Ok(other) = linear::compile(&node) else { return Ok(()) };
        let spans = linear::spans(&node).expect("it is small");
        let linear = Linear::new(pattern.as_bytes(), &node).unwrap();
        let (mut groups, mut expected) = (Groups::default(), other.create_captures());
        for value in values.iter().map(String::as_bytes) {
            for from in 0..=value.len() {
                other.search_captures(&Input::new(value).range(from..), &mut expected);
                let place = expected.get_match().map(|found| (found.start(), found.end()));
                prop_assert_eq!(spans.find(value, from), place, "{} {:?} from {}", &pattern, value, from);
                prop_assert_eq!(linear.find_at(value, from, &mut groups), place.is_some());
                for group in 0..Captures::MAX {
                    let place = expected.get_group(group).map(|place| (place.start, place.end));
                    prop_assert_eq!(groups.get(group), place, "{} {:?} from {}", &pattern, value, from);
                }
            }
        }
    }
}
