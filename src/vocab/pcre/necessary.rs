//! What every value that a pattern is found in must hold, read off the syntax tree.
//!
//! Conditions on the place, references and look-around are taken for empty text: they only make a pattern match less.
//! Case is folded, since the literal automaton folds it too.

use super::ast::{Node, Repeat};
use crate::vocab::byte_set::ByteSet;
use crate::vocab::necessary::{Clause, Necessary, frequency, rarest_bytes, weight};

/// More texts than this are not multiplied out when parts follow each other.
const MAX_PRODUCT: usize = 2_000;

/// An alternation of more texts than this is no clause.
const MAX_TEXTS: usize = 4_000;

/// Longer texts are not put together: a window of them is enough.
const MAX_TEXT_BYTES: usize = 24;

/// Punctuation that ordinary values hold this seldom; where leaving it out does not help, this seldom.
const RARE: [f32; 2] = [0.003, 0.01];

/// A class of more bytes (cases folded) is no text.
const MAX_CLASS: usize = 10;

/// What is known of a part of a pattern.
struct Part {
    /// All that it can match, when that is a handful of texts.
    texts: Option<Vec<Vec<u8>>>,
    /// What the text that it matches must hold.
    necessary: Necessary,
}

/// The conditions of a pattern, the best few of them.
pub(super) fn of(node: &Node) -> Necessary {
    let necessary = whole(node).best();
    if necessary.clauses.is_empty() { with_rare_bytes(necessary, node) } else { necessary }
}

fn whole(node: &Node) -> Necessary {
    let mut part = part(node);
    part.close();
    part.necessary
}

/// Patterns that see through evasions allow quotes and the like between all letters, and so have no texts. But a value
/// that holds no such byte is only matched by what is left of the pattern without them. So: one of these bytes, or one of
/// the texts of what is left.
fn with_rare_bytes(mut necessary: Necessary, node: &Node) -> Necessary {
    for limit in RARE {
        let rare = (b'!'..=b'~').filter(|byte| !byte.is_ascii_alphanumeric() && frequency(*byte) <= limit);
        let set = rare.chain(*b"\n\r").fold(ByteSet::EMPTY, ByteSet::with);
        let left = without(node, set);
        if part(&left).is_never() {
            // A smaller set says more.
            if !necessary.sets.iter().any(|known| known.minus(set).is_empty()) {
                necessary.sets.push(set);
            }
            return necessary.best();
        }
        if let Some(Clause(mut texts)) = whole(&left).best().clauses.into_iter().next() {
            texts.extend(set.iter().map(|byte| vec![byte]));
            necessary.clauses.push(Clause(texts));
            return necessary;
        }
    }
    necessary
}

/// The pattern as it matches values without bytes of the set.
fn without(node: &Node, set: ByteSet) -> Node {
    let boxed = |node: &Node| Box::new(without(node, set));
    match node {
        Node::Set(own) => Node::Set(own.minus(set)),
        Node::Concat(nodes) => Node::Concat(nodes.iter().map(|node| without(node, set)).collect()),
        Node::Alternate(nodes) => Node::Alternate(nodes.iter().map(|node| without(node, set)).collect()),
        Node::Repeat(repeat) => Node::Repeat(Repeat { node: boxed(&repeat.node), ..repeat.clone() }),
        Node::Capture(number, node) => Node::Capture(*number, boxed(node)),
        Node::Atomic(node) => Node::Atomic(boxed(node)),
        Node::Empty | Node::Assert(_) | Node::Look { .. } | Node::BackReference { .. } | Node::Keep => node.clone(),
    }
}

impl Part {
    fn texts(texts: Vec<Vec<u8>>) -> Self {
        let min_len = texts.iter().map(Vec::len).min().unwrap_or(0);
        Self { texts: Some(texts), necessary: Necessary { min_len, ..Necessary::nothing() } }
    }

    const fn unknown(necessary: Necessary) -> Self {
        Self { texts: None, necessary }
    }

    fn empty() -> Self {
        Self::texts(vec![Vec::new()])
    }

    fn is_never(&self) -> bool {
        self.texts.as_ref().is_some_and(Vec::is_empty)
    }

    /// Gives up the texts: what they say goes into the conditions.
    fn close(&mut self) {
        if let Some(texts) = self.texts.take() {
            note(texts, &mut self.necessary);
        }
    }
}

fn part(node: &Node) -> Part {
    match node {
        Node::Empty | Node::Assert(_) | Node::Look { .. } | Node::Keep => Part::empty(),
        Node::BackReference { .. } => Part::unknown(Necessary::nothing()),
        Node::Set(set) => of_set(*set),
        Node::Capture(_, node) | Node::Atomic(node) => part(node),
        Node::Concat(nodes) => concat(nodes),
        Node::Alternate(nodes) => alternate(nodes.iter().map(part).collect()),
        Node::Repeat(repeat) => of_repeat(repeat),
    }
}

fn of_set(set: ByteSet) -> Part {
    let mut lower: Vec<u8> = set.iter().map(|byte| byte.to_ascii_lowercase()).collect();
    lower.sort_unstable();
    lower.dedup();
    if lower.len() <= MAX_CLASS {
        return Part::texts(lower.into_iter().map(|byte| vec![byte]).collect());
    }
    Part::unknown(Necessary::byte_of(set.fold_case()))
}

fn of_repeat(Repeat { node, min, max, .. }: &Repeat) -> Part {
    let mut inner = part(node);
    match (min, max) {
        (0, _) if inner.is_never() => Part::empty(),
        _ if inner.is_never() => inner,
        (0, Some(1)) => match inner.texts.take() {
            Some(mut texts) => {
                texts.push(Vec::new());
                Part::texts(texts)
            }
            None => Part::unknown(Necessary::nothing()),
        },
        (0, _) => Part::unknown(Necessary::nothing()),
        (1, Some(1)) => inner,
        (2..=4, _) if inner.texts.is_some() => {
            let mut parts: Vec<Part> = (0..*min).map(|_| part(node)).collect();
            if Some(*min) != *max {
                parts.push(Part::unknown(Necessary::nothing()));
            }
            concat_parts(parts)
        }
        _ => {
            inner.close();
            inner.necessary.min_len = inner.necessary.min_len.saturating_mul(*min as usize);
            inner
        }
    }
}

fn concat(nodes: &[Node]) -> Part {
    concat_parts(nodes.iter().map(part).collect())
}

fn concat_parts(parts: Vec<Part>) -> Part {
    if parts.iter().any(Part::is_never) {
        return Part::texts(Vec::new());
    }
    let mut necessary = Necessary::nothing();
    // The texts of the parts since the last one that could not be put together with those before it.
    let (mut run, mut whole) = (vec![Vec::new()], true);
    for mut next in parts {
        necessary.min_len = necessary.min_len.saturating_add(next.necessary.min_len);
        necessary.sets.append(&mut next.necessary.sets);
        necessary.clauses.append(&mut next.necessary.clauses);
        if let Some(texts) = next.texts.as_deref().and_then(|texts| product(&run, texts)) {
            run = texts;
            continue;
        }
        note(run, &mut necessary);
        run = next.texts.unwrap_or_else(|| vec![Vec::new()]);
        whole = false;
    }
    if whole {
        return Part { texts: Some(run), necessary };
    }
    note(run, &mut necessary);
    Part { texts: None, necessary }
}

/// Every head with every tail; `None` when that would be too many or too long.
fn product(heads: &[Vec<u8>], tails: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let few = heads.len().saturating_mul(tails.len()) <= MAX_PRODUCT || matches!(heads, [head] if head.is_empty());
    let long = heads.iter().any(|text| text.len() > MAX_TEXT_BYTES);
    let join = |head: &Vec<u8>| tails.iter().map(|tail| [head.as_slice(), tail].concat()).collect::<Vec<_>>();
    (few && !long).then(|| heads.iter().flat_map(join).collect())
}

/// One of the texts is there: as a clause, and as the set of their rarest bytes.
fn note(texts: Vec<Vec<u8>>, necessary: &mut Necessary) {
    if !texts.is_empty() && texts.iter().all(|text| !text.is_empty()) {
        necessary.sets.extend(rarest_bytes(&texts));
        necessary.clauses.push(Clause(texts));
    }
}

fn alternate(mut parts: Vec<Part>) -> Part {
    // A branch that never matches says nothing.
    parts.retain(|part| !part.is_never());
    let count = |part: &Part| part.texts.as_ref().map(Vec::len);
    if parts.iter().map(count).sum::<Option<usize>>().is_some_and(|count| count <= MAX_TEXTS) {
        return Part::texts(parts.into_iter().filter_map(|part| part.texts).flatten().collect());
    }
    parts.iter_mut().for_each(Part::close);
    let min_len = parts.iter().map(|part| part.necessary.min_len).min().unwrap_or(0);
    let sets = parts.iter().map(rarest_set).collect::<Option<Vec<_>>>();
    let set = sets.map(|sets| sets.into_iter().fold(ByteSet::EMPTY, ByteSet::union));
    let clause = parts.iter().map(rarest_clause).collect::<Option<Vec<_>>>().map(|texts| texts.concat());
    let clause = clause.filter(|texts| texts.len() <= MAX_TEXTS).map(Clause);
    Part::unknown(Necessary { min_len, sets: set.into_iter().collect(), clauses: clause.into_iter().collect() })
}

fn rarest_set(part: &Part) -> Option<ByteSet> {
    part.necessary.sets.iter().copied().min_by(|a, b| weight(*a).total_cmp(&weight(*b)))
}

fn rarest_clause(part: &Part) -> Option<Vec<Vec<u8>>> {
    let usable = part.necessary.clauses.iter().filter(|clause| clause.is_usable());
    usable.min_by(|a, b| a.frequency().total_cmp(&b.frequency())).map(|clause| clause.0.clone())
}

#[cfg(test)]
mod tests {
    use super::super::{Pattern, parser};
    use super::*;
    use proptest::prelude::*;

    fn necessary(pattern: &str) -> Necessary {
        of(&parser::parse(pattern.as_bytes()).unwrap())
    }

    #[test]
    fn literals_classes_and_lengths_are_found() {
        let cases: [(&str, usize, &[&str]); 11] = [
            (r"union\s+select", 12, &["union", "elect"]),
            (r"(?i)a(?:bc|de)f", 4, &["abcf", "adef"]),
            (r"x?yz", 2, &["yz"]),
            (r"(?:foo|bar\d+)baz", 6, &["foo", "bar", "baz"]),
            (r"\bsleep\(", 6, &["leep("]),
            (r"(?:ab)*", 0, &[]),
            (r"(?:script|[a-z]+)", 1, &[]),
            (r"(?:ab){3}", 6, &["babab"]),
            (r"/\.{2,3}/", 4, &[".."]),
            (r"(?!x)^foo$", 3, &["foo"]),
            (r"(?i)b['$]*u['$]*s['$]*y(?:[$]\w*)?x?", 4, &["busy", "\\'", "$"]),
        ];
        for (pattern, min_len, texts) in cases {
            let found = necessary(pattern);
            assert_eq!(found.min_len, min_len, "{pattern}");
            let all: Vec<String> =
                found.clauses.iter().flat_map(|clause| &clause.0).map(|text| text.escape_ascii().to_string()).collect();
            for text in texts {
                assert!(all.iter().any(|found| found == text), "{pattern}: {text} is not in {all:?}");
            }
            assert_eq!(all.is_empty(), texts.is_empty(), "{pattern}: {all:?}");
        }
        assert_eq!(necessary(r"[<>]\w*").sets, [ByteSet::of(b"<>")]);
    }

    /// Patterns over few letters, so that short values often match.
    fn pattern() -> impl Strategy<Value = String> {
        let atom = prop_oneof!["[abz<]{1,3}", Just("[ab]".into()), Just(".".into()), Just("\\b".into())];
        atom.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
                proptest::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
                (inner.clone(), proptest::sample::select(vec!["?", "*", "+", "{2}", "{1,3}", "*?", "++"]))
                    .prop_map(|(part, times)| format!("(?:{part}){times}")),
                inner.clone().prop_map(|part| format!("(?i:{part})")),
                inner.prop_map(|part| format!("({part})")),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn every_match_fulfils_them(pattern in pattern(), value in "[abzABZ< ]{0,12}") {
            let Ok(compiled) = Pattern::new(pattern.as_bytes(), 10_000) else { return Ok(()) };
            if compiled.is_match(value.as_bytes()) == Ok(true) {
                let found = necessary(&pattern);
                prop_assert!(found.is_met(value.as_bytes()), "{} {:?} {:?}", pattern, value, found);
            }
        }
    }
}
