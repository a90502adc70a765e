//! Rule text to syntax tree, includes resolved in place.
//!
//! Never stops at the first error: all diagnostics come at once, with what could be read. Does not know variables,
//! operators and actions; the compiler resolves their names.

pub mod actions;
mod backslashes;
pub mod directives;
pub mod includes;
pub mod operator;
pub mod selectors;
pub mod targets;

use std::sync::Arc;

use self::backslashes::Backslashes;
use self::directives::{DIRECTIVES, DirectiveInfo};
use super::ast::{Directive, DirectiveKind, Program, RuleSelector};
use super::diag::{Diagnostic, nearest};
use super::lexer::{Line, Lines, Text, Word, words};
use super::source::{Loader, Span, Spanned};

/// What was read, and what is wrong with it.
#[derive(Clone, Default, Debug)]
pub struct Parsed {
    /// Every directive that could be read, includes resolved.
    pub program: Program,
    /// All findings, in load order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads the file `entry` and everything it includes.
///
/// ```
/// use portcullis::seclang::{parser, source::MemoryLoader};
///
/// let mut files = MemoryLoader::new();
/// files.insert("main.conf", *b"Include rules/*.conf");
/// files.insert("rules/a.conf", *b"SecRule ARGS \"@rx attack\" \"id:1,deny\"");
/// let parsed = parser::parse(&files, "main.conf");
/// assert!(parsed.diagnostics.is_empty());
/// assert_eq!(parsed.program.directives.len(), 1);
/// ```
pub fn parse(loader: &dyn Loader, entry: &str) -> Parsed {
    let mut parser = Parser::new(loader);
    match loader.read(entry) {
        Ok(text) => parser.file(entry, text),
        Err(reason) => {
            let file = parser.program.sources.add(entry, Vec::new());
            let span = Span { file, line: 1, column: 1, len: 1 };
            parser.report(Diagnostic::error(span, format!("cannot read `{entry}`: {reason}")));
        }
    }
    parser.finish()
}

/// Parses text held in memory as if it were the file `name`; includes are relative to it.
pub fn parse_text(loader: &dyn Loader, name: &str, text: &[u8]) -> Parsed {
    let mut parser = Parser::new(loader);
    parser.file(name, text.to_vec());
    parser.finish()
}

struct Parser<'a> {
    loader: &'a dyn Loader,
    program: Program,
    diagnostics: Vec<Diagnostic>,
    includes: includes::Stack,
    /// How the file being read wants its backslashes read.
    backslashes: Backslashes,
}

/// A directive's name and arguments, and the text they were written in.
struct Words<'a> {
    line: &'a Line,
    name: &'a Word,
    arguments: &'a [Word],
    backslashes: Backslashes,
}

impl<'a> Words<'a> {
    /// The argument at an index, empty if it is missing.
    fn text(&self, index: usize) -> Option<Text<'a>> {
        self.arguments.get(index).map(|word| Text::word(self.line, word))
    }

    /// The place of the name.
    fn span(&self) -> Span {
        Text::word(self.line, self.name).span()
    }
}

impl<'a> Parser<'a> {
    fn new(loader: &'a dyn Loader) -> Self {
        Self {
            loader,
            program: Program::default(),
            diagnostics: Vec::new(),
            includes: includes::Stack::default(),
            backslashes: Backslashes::default(),
        }
    }

    fn finish(self) -> Parsed {
        Parsed { program: self.program, diagnostics: self.diagnostics }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Parses a file; the caller has checked that it may be included here.
    fn file(&mut self, path: &str, text: Vec<u8>) {
        let file = self.program.sources.add(path, text);
        let Some(text) = self.program.sources.get(file).map(|source| Arc::clone(&source.text)) else { return };
        self.includes.enter(path);
        let including = std::mem::replace(&mut self.backslashes, Backslashes::of(&text));
        let mut lines = Lines::new(file, &text);
        let mut line = Line::new(file);
        while lines.next(&mut line, &mut self.diagnostics) {
            self.line(&line, path);
            if opens_list(&line) {
                skip_list(&mut lines, &mut line);
            }
        }
        self.backslashes = including;
        self.includes.leave();
    }

    fn line(&mut self, line: &Line, path: &str) {
        let words = match words(line) {
            Ok(words) => words,
            Err(diagnostic) => return self.report(diagnostic),
        };
        let Some((name, arguments)) = words.split_first() else { return };
        let words = Words { line, name, arguments, backslashes: self.backslashes };
        let text = Text::word(line, name).shown();
        let Some(info) = directives::directive(&text) else {
            return self.report(unknown_directive(words.span(), &text));
        };
        if let Err(diagnostic) = check_arguments(&words, info) {
            return self.report(diagnostic);
        }
        match info.name {
            "Include" => self.include(&words, path, includes::Absent::Reported),
            "IncludeOptional" => self.include(&words, path, includes::Absent::Fine),
            _ => {
                if let Some(kind) = kind(info, &words, &mut self.diagnostics) {
                    self.program.directives.push(Directive { span: words.span(), name: text, kind });
                }
            }
        }
    }
}

/// Whether a list between backticks begins that does not end on the line: Coraza's `SecDataset`. It is refused as a whole;
/// its phrases are no directives, and what is wrong with them is nobody's concern.
fn opens_list(line: &Line) -> bool {
    const NAME: &[u8] = b"SecDataset";
    let text = line.text.trim_ascii_start();
    let is_dataset = text.get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME));
    is_dataset && text.trim_ascii_end().ends_with(b"`") && text.iter().filter(|byte| **byte == b'`').count() == 1
}

fn skip_list(lines: &mut Lines<'_>, line: &mut Line) {
    while lines.next(line, &mut Vec::new()) && !line.text.contains(&b'`') {}
}

/// The directive's tree; `None` if too little of it could be read.
fn kind(info: &'static DirectiveInfo, words: &Words<'_>, out: &mut Vec<Diagnostic>) -> Option<DirectiveKind> {
    let first = words.text(0);
    Some(match (info.name, first) {
        ("SecRule", Some(first)) => return rule(first, words, out),
        ("SecAction", Some(list)) => DirectiveKind::Action(actions::actions(list, out)),
        ("SecMarker", Some(name)) => DirectiveKind::Marker(Spanned { node: name.shown(), span: name.span() }),
        ("SecDefaultAction", Some(list)) => DirectiveKind::DefaultAction(actions::actions(list, out)),
        ("SecRuleRemoveById", _) => {
            let rules = all_ids(words, words.arguments.len(), out);
            return (!rules.is_empty()).then_some(DirectiveKind::RemoveRules(rules));
        }
        ("SecRuleRemoveByTag", Some(tag)) => DirectiveKind::RemoveRules(vec![RuleSelector::Tag(bytes(tag))]),
        ("SecRuleRemoveByMsg", Some(msg)) => DirectiveKind::RemoveRules(vec![RuleSelector::Msg(bytes(msg))]),
        ("SecRuleUpdateTargetById", _) => return update_by_id(words, out),
        ("SecRuleUpdateTargetByTag", Some(tag)) => {
            return update_targets(vec![RuleSelector::Tag(bytes(tag))], words, 1, out);
        }
        ("SecRuleUpdateTargetByMsg", Some(msg)) => {
            return update_targets(vec![RuleSelector::Msg(bytes(msg))], words, 1, out);
        }
        ("SecRuleUpdateActionById", Some(id)) => return update_actions(id, words, out),
        (canonical, _) => {
            let arguments = words.arguments.iter().map(|word| bytes(Text::word(words.line, word)));
            DirectiveKind::Setting { canonical, arguments: arguments.collect() }
        }
    })
}

fn bytes(text: Text<'_>) -> Spanned<Vec<u8>> {
    Spanned { node: text.bytes.to_vec(), span: text.span() }
}

fn rule(first: Text<'_>, words: &Words<'_>, out: &mut Vec<Diagnostic>) -> Option<DirectiveKind> {
    let targets = targets::targets(first, out);
    let halved = match words.backslashes {
        Backslashes::Halved => words.arguments.get(1).map(Word::with_fours_halved),
        Backslashes::Kept => None,
    };
    let operator =
        operator::operator(halved.as_ref().map_or(words.text(1), |word| Some(Text::word(words.line, word)))?);
    let actions = words.text(2).map(|list| actions::actions(list, out)).unwrap_or_default();
    match operator {
        Ok(operator) if !targets.is_empty() => Some(DirectiveKind::Rule { targets, operator, actions }),
        Ok(_) => None,
        Err(diagnostic) => {
            out.push(diagnostic);
            None
        }
    }
}

fn all_ids(words: &Words<'_>, count: usize, out: &mut Vec<Diagnostic>) -> Vec<RuleSelector> {
    let texts = words.arguments.iter().take(count).map(|word| Text::word(words.line, word));
    texts.flat_map(|text| selectors::ids(text, out)).collect()
}

/// As in Coraza several ids may stand before the targets; as in `ModSecurity` 2 a second target list may follow.
fn update_by_id(words: &Words<'_>, out: &mut Vec<Diagnostic>) -> Option<DirectiveKind> {
    let is_id = |word: &&Word| word.text.trim_ascii_start().first().is_some_and(u8::is_ascii_digit);
    let ids = words.arguments.iter().take_while(is_id).count().max(1);
    let rules = all_ids(words, ids, out);
    match words.arguments.get(ids + 2) {
        _ if words.arguments.len() == ids => {
            let help = "write `SecRuleUpdateTargetById ID|FIRST-LAST \"TARGETS\"`";
            out.push(Diagnostic::error(words.span(), "`SecRuleUpdateTargetById` has no targets").with_help(help));
            None
        }
        Some(surplus) => {
            out.push(surplus_argument("SecRuleUpdateTargetById", Text::word(words.line, surplus)));
            None
        }
        None => update_targets(rules, words, ids, out),
    }
}

/// The targets are the argument `at`, those they replace the one behind it.
fn update_targets(
    rules: Vec<RuleSelector>,
    words: &Words<'_>,
    at: usize,
    out: &mut Vec<Diagnostic>,
) -> Option<DirectiveKind> {
    let mut list = |index| words.text(index).map(|text| targets::targets(text, out));
    let (targets, replaced) = (list(at)?, list(at + 1));
    let complete = !rules.is_empty() && !targets.is_empty() && !replaced.as_ref().is_some_and(Vec::is_empty);
    complete.then(|| DirectiveKind::UpdateTargets { rules, targets, replaced: replaced.unwrap_or_default() })
}

fn update_actions(id: Text<'_>, words: &Words<'_>, out: &mut Vec<Diagnostic>) -> Option<DirectiveKind> {
    let colon = id.bytes.iter().position(|byte| *byte == b':');
    let rules = selectors::ids(id.slice(0..colon.unwrap_or(id.bytes.len())), out);
    let link = colon.map_or(Ok(0), |colon| {
        let link = id.from(colon + 1);
        selectors::number(link).map_err(|_| {
            Diagnostic::error(link.span(), format!("`{}` is not the number of a chain's link", link.shown()))
                .with_help("write `ID:1` for the first rule behind the starter")
        })
    });
    let actions = actions::actions(words.text(1)?, out);
    match link {
        Ok(_) if rules.is_empty() => None,
        Ok(link) => Some(DirectiveKind::UpdateActions { rules, link, actions }),
        Err(diagnostic) => {
            out.push(diagnostic);
            None
        }
    }
}

fn unknown_directive(span: Span, name: &str) -> Diagnostic {
    let diagnostic = Diagnostic::error(span, format!("unknown directive `{name}`"));
    if name.starts_with('<') {
        return diagnostic.with_help("remove it; sections of a server's configuration have no meaning here");
    }
    if name.starts_with(['"', '\'']) {
        return diagnostic.with_help("end the line above with `\\` if this belongs to it");
    }
    match nearest(name, DIRECTIVES.iter().map(|info| info.name)) {
        Some(known) => diagnostic.with_help(format!("did you mean `{known}`?")),
        None => diagnostic.with_help("a directive starts with `Sec` or `Include`; comments start with `#`"),
    }
}

fn check_arguments(words: &Words<'_>, info: &DirectiveInfo) -> Result<(), Diagnostic> {
    let count = words.arguments.len();
    if let Some(surplus) = words.arguments.get(info.max_arguments).filter(|_| count > info.max_arguments) {
        return Err(surplus_argument(info.name, Text::word(words.line, surplus)));
    }
    if count >= info.min_arguments {
        return Ok(());
    }
    let missing = match (info.name, count) {
        ("SecRule", 0) => "targets",
        ("SecRule", _) => "operator",
        (_, 0) => "argument",
        (_, _) => "second argument",
    };
    Err(Diagnostic::error(words.span(), format!("`{}` has no {missing}", info.name))
        .with_help(format!("write `{} {}`", info.name, info.usage)))
}

fn surplus_argument(name: &str, word: Text<'_>) -> Diagnostic {
    let diagnostic = Diagnostic::error(word.span(), format!("too many arguments for `{name}`"));
    match word.bytes.first() {
        Some(b'#') => diagnostic.with_help("write the comment on a line of its own"),
        _ => diagnostic.with_help("put `\"` around an argument that holds blanks"),
    }
}

#[cfg(test)]
mod tests;
