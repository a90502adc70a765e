//! A syntax tree back to text: parsing it again gives the same tree, places aside.
//!
//! Does not know where the text came from; includes are already part of the tree.

use super::ast::{Action, Directive, DirectiveKind, Key, OperatorExpr, Program, RuleSelector, Target};
use super::lexer::{self, Line, Lines};
use super::parser::targets::takes_expression;
use super::source::{FileId, Spanned};

/// Prints all directives, one a line.
pub fn program(program: &Program) -> Vec<u8> {
    let mut out = Vec::new();
    for one in &program.directives {
        out.extend(directive(one));
        out.push(b'\n');
    }
    out
}

/// Prints one directive on one line, without a line end.
pub fn directive(directive: &Directive) -> Vec<u8> {
    let mut out = directive.name.clone().into_bytes();
    for argument in arguments(&directive.kind) {
        out.push(b' ');
        out.extend(argument);
    }
    match out.last() {
        // A bare word may end in what would be read as part of the line's end.
        Some(b'\\') => out.extend(b"\\\n"),
        Some(b'\r') => out.push(b'\r'),
        _ => {}
    }
    out
}

/// Prints one directive for people: an action a line, as rule files are written. Reads back as the same directive.
pub fn directive_in_lines(directive: &Directive) -> Vec<u8> {
    let (head, list) = match &directive.kind {
        DirectiveKind::Rule { targets: list, operator: expr, actions } => {
            (vec![word(&targets(list)), word(&operator(expr))], actions)
        }
        DirectiveKind::Action(actions) => (Vec::new(), actions),
        _ => return self::directive(directive),
    };
    if list.is_empty() {
        return self::directive(directive);
    }
    let mut out = directive.name.clone().into_bytes();
    for argument in head {
        out.push(b' ');
        out.extend(argument);
    }
    out.extend(b" \\\n    ");
    let lines: Vec<_> = list.iter().map(readable_action).collect();
    out.extend(in_quotes(&lines.join(b",\\\n    ".as_slice()), b'"'));
    out
}

fn arguments(kind: &DirectiveKind) -> Vec<Vec<u8>> {
    match kind {
        DirectiveKind::Rule { targets: list, operator: expr, actions: all } => {
            let rest = (!all.is_empty()).then(|| word(&actions(all)));
            [word(&targets(list)), word(&operator(expr))].into_iter().chain(rest).collect()
        }
        DirectiveKind::Action(all) | DirectiveKind::DefaultAction(all) => vec![word(&actions(all))],
        DirectiveKind::Marker(name) => vec![word(name.node.as_bytes())],
        DirectiveKind::RemoveRules(rules) => selectors(rules),
        DirectiveKind::UpdateTargets { rules, targets: list, replaced } => {
            let rest = (!replaced.is_empty()).then(|| word(&targets(replaced)));
            selectors(rules).into_iter().chain([word(&targets(list))]).chain(rest).collect()
        }
        DirectiveKind::UpdateActions { rules, link, actions: all } => {
            let mut which = selectors(rules).join(&b',');
            if *link > 0 {
                which.extend(format!(":{link}").into_bytes());
            }
            vec![which, word(&actions(all))]
        }
        DirectiveKind::Setting { arguments, .. } => arguments.iter().map(|argument| word(&argument.node)).collect(),
    }
}

fn selectors(rules: &[RuleSelector]) -> Vec<Vec<u8>> {
    rules
        .iter()
        .map(|rule| match rule {
            RuleSelector::Ids(Spanned { node: (first, last), .. }) if first == last => first.to_string().into_bytes(),
            RuleSelector::Ids(Spanned { node: (first, last), .. }) => format!("{first}-{last}").into_bytes(),
            RuleSelector::Tag(text) | RuleSelector::Msg(text) => word(&text.node),
        })
        .collect()
}

/// Prints a target list, without quotes around it.
pub fn targets(list: &[Target]) -> Vec<u8> {
    list.iter().map(target).collect::<Vec<_>>().join(&b'|')
}

fn target(target: &Target) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(target.negated.then_some(b'!'));
    out.extend(target.count.then_some(b'&'));
    out.extend(target.name.node.as_bytes());
    if let Some(Spanned { node, .. }) = &target.key {
        out.push(b':');
        out.extend(key(node, takes_expression(&target.name.node)));
    }
    out
}

fn key(key: &Key, expression: bool) -> Vec<u8> {
    match key {
        Key::Regex(pattern) => [b"/", slashes_escaped(pattern).as_slice(), b"/"].concat(),
        Key::Literal(text) | Key::XPath(text) => {
            let ends = |byte: &u8| matches!(*byte, b'|' | b',');
            let starts = |byte: &u8| *byte == b'\'' || (*byte == b'/' && !expression);
            let plain = !text.iter().any(ends) && !text.first().is_some_and(starts) && lexer::trim_end(text) == text;
            if plain { text.clone() } else { in_quotes(text, b'\'') }
        }
    }
}

/// `/` becomes `\/`; what a backslash escapes stays.
fn slashes_escaped(pattern: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(pattern.len());
    let mut rest = pattern.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' => {
                out.push(b'\\');
                out.extend(rest.next());
            }
            b'/' => out.extend(b"\\/"),
            byte => out.push(*byte),
        }
    }
    out
}

/// Prints an operator, without quotes around it.
pub fn operator(operator: &OperatorExpr) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(operator.negated.then_some(b'!'));
    if !operator.implied {
        out.push(b'@');
        out.extend(operator.name.node.as_bytes());
        if !operator.argument.node.is_empty() {
            out.push(b' ');
        }
    }
    out.extend(&operator.argument.node);
    out
}

/// Prints an action list, without quotes around it.
pub fn actions(list: &[Action]) -> Vec<u8> {
    list.iter().map(action).collect::<Vec<_>>().join(&b',')
}

fn action(action: &Action) -> Vec<u8> {
    let mut out = action.name.node.clone().into_bytes();
    if let Some(Spanned { node: value, .. }) = &action.value {
        out.push(b':');
        out.extend(if is_plain_value(value) { value.clone() } else { in_quotes(value, b'\'') });
    }
    out
}

/// An action with its value in quotes unless it is one simple word.
fn readable_action(action: &Action) -> Vec<u8> {
    let mut out = action.name.node.clone().into_bytes();
    if let Some(Spanned { node: value, .. }) = &action.value {
        let simple = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        out.push(b':');
        out.extend(if value.iter().all(simple) { value.clone() } else { in_quotes(value, b'\'') });
    }
    out
}

fn is_plain_value(value: &[u8]) -> bool {
    let blank = |byte: Option<&u8>| byte.is_none_or(|byte| lexer::is_blank(*byte));
    !value.contains(&b',') && !blank(value.first()) && !blank(value.last()) && value.first() != Some(&b'\'')
}

fn in_quotes(text: &[u8], quote: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    out.push(quote);
    for byte in text {
        if *byte == quote {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(quote);
    out
}

/// An argument in the first form that reads back as the same text: `"…"`, bare, `'…'`.
fn word(text: &[u8]) -> Vec<u8> {
    let forms = [in_quotes(text, b'"'), text.to_vec(), in_quotes(text, b'\'')];
    let index = forms.iter().position(|form| reads_back(form, text)).unwrap_or_default();
    forms.into_iter().nth(index).unwrap_or_default()
}

fn reads_back(form: &[u8], text: &[u8]) -> bool {
    let mut line = Line::new(FileId(0));
    let directive = [b"x ", form, b" z"].concat();
    let mut diagnostics = Vec::new();
    let read = Lines::new(FileId(0), &directive).next(&mut line, &mut diagnostics);
    let words = lexer::words(&line).unwrap_or_default();
    read && diagnostics.is_empty() && matches!(words.as_slice(), [_, word, _] if word.text == text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::seclang::parser::parse_text;
    use crate::seclang::source::{MemoryLoader, Span};

    fn meaning(program: &Program) -> Vec<Directive> {
        let nowhere = Span { file: FileId(0), line: 1, column: 1, len: 1 };
        program.directives.iter().cloned().map(|directive| directive.placed_at(nowhere)).collect()
    }

    /// Text without a finding prints to text without a finding that reads back as the same tree; `false` if there are
    /// findings, or nothing was read.
    fn round_trip(text: &[u8]) -> bool {
        let parsed = parse_text(&MemoryLoader::new(), "a.conf", text);
        let printed = program(&parsed.program);
        let again = parse_text(&MemoryLoader::new(), "b.conf", &printed);
        if !parsed.diagnostics.is_empty() || parsed.program.directives.is_empty() {
            return false;
        }
        let shown = (String::from_utf8_lossy(text), String::from_utf8_lossy(&printed));
        assert_eq!(again.diagnostics, [], "{shown:?}");
        assert_eq!(meaning(&parsed.program), meaning(&again.program), "{shown:?}");
        true
    }

    #[test]
    fn odd_ends_of_bare_words_survive() {
        for text in [
            "SecMarker a\\\n\nSecMarker b",
            "SecMarker \\'\\\"\r\r\nSecMarker b",
            "SecRule ARGS:a\\ foo\\ \"\"\nSecMarker b",
            "SecRule ARGS:\\'\\\"\r x\nSecMarker b",
        ] {
            assert!(round_trip(text.as_bytes()), "{text:?}");
        }
    }

    /// Short texts in which everything that has a meaning somewhere is likely.
    fn soup() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[a-z0-9]{1,3}",
            1 => Just("\\\n  ".to_owned()),
            6 => proptest::sample::select(vec![
                "\\", "\"", "'", ",", "|", "/", ":", " ", "\t", "!", "@", "&", "#", "-", "=", "\r", "XML:", "TX:/", "ARGS:'",
                "msg:'", "\\\"", "\\'", "\\/", "é", "\u{0}",
            ]).prop_map(str::to_owned),
        ];
        proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    /// A directive with a soup in one place; what stands around it is in order.
    fn line() -> impl Strategy<Value = String> {
        let around = proptest::sample::select(vec![
            ("SecRule ARGS:", " x"),
            ("SecRule \"ARGS:", "\" x"),
            ("SecRule \"ARGS:'", "'|!ARGS\" x"),
            ("SecRule TX:/", "/ x"),
            ("SecRule \"&TX:'/", "/'\" x"),
            ("SecRule \"XML:", "\" x"),
            ("SecRule ARGS \"@rx ", "\" id:1"),
            ("SecRule ARGS \"!", "\" id:1"),
            ("SecRule ARGS '", "'"),
            ("SecRule ARGS ", ""),
            ("SecAction \"id:1,msg:'", "',pass\""),
            ("SecAction \"msg:", "\""),
            ("SecAction 'msg:", "'"),
            ("SecAction msg:", ""),
            ("SecMarker \"", "\""),
            ("SecMarker '", "'"),
            ("SecDefaultAction \"", "\""),
            ("SecRuleRemoveById \"1 ", "\""),
            ("SecRuleRemoveByTag \"", "\""),
            ("SecRuleUpdateTargetById 1 2-3 \"ARGS|", "\" FILES"),
            ("SecRuleUpdateTargetByMsg \"", "\" ARGS"),
            ("SecRuleUpdateActionById 1:2 \"msg:'", "'\""),
            ("SecResponseBodyMimeType ", " a \"b c\""),
        ]);
        (around, soup()).prop_map(|((before, after), text)| format!("{before}{text}{after}"))
    }

    /// Runs a strategy and returns how many of its texts were free of findings.
    fn clean_of(cases: u32, texts: &impl Strategy<Value = Vec<u8>>) -> u32 {
        let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
        let clean = std::cell::Cell::new(0);
        let result = proptest::test_runner::TestRunner::new(config).run(texts, |text| {
            clean.set(clean.get() + u32::from(round_trip(&text)));
            Ok(())
        });
        result.unwrap();
        clean.get()
    }

    #[test]
    fn printing_loses_nothing() {
        let clean = clean_of(4_000, &line().prop_map(String::into_bytes));
        assert!(clean > 1_000, "{clean} of 4000 texts were free of findings");
    }

    #[test]
    fn any_bytes_are_read() {
        let bytes = proptest::collection::vec(any::<u8>(), 0..80);
        clean_of(2_000, &bytes.prop_map(|bytes| [b"SecRule ", bytes.as_slice(), b"\nSecMarker a"].concat()));
    }
}
