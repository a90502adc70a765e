//! YAML as a small tree of text with line numbers, and maps whose fields are all accounted for.
//!
//! Scalars stay text: a header value `Content-Length: 22` is the two bytes that are sent, not a number. Knows nothing
//! of regression tests.

use std::borrow::Cow;
use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use super::FtwError;

/// Deeper nesting is refused; the test schemas need seven levels.
const MAX_DEPTH: usize = 32;

/// A node and the line it starts on, from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Node {
    pub(super) line: u32,
    pub(super) value: Value,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    /// A scalar as written; `plain` when it stood without quotes, so that `~` and nothing can mean "absent".
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Key {
    pub(super) text: String,
    pub(super) line: u32,
}

/// Collects errors while one file is read, so that all of them are reported at once.
pub(super) struct Reader<'e> {
    file: Arc<str>,
    errors: &'e mut Vec<FtwError>,
}

impl<'e> Reader<'e> {
    pub(super) fn new(file: Arc<str>, errors: &'e mut Vec<FtwError>) -> Self {
        Self { file, errors }
    }

    pub(super) fn file(&self) -> Arc<str> {
        Arc::clone(&self.file)
    }

    pub(super) fn error(&mut self, line: u32, message: impl Into<String>) {
        self.errors.push(FtwError { file: Arc::clone(&self.file), line, message: message.into() });
    }

    /// The first document of the text; `None` when it is empty (comments only) or broken.
    pub(super) fn document(&mut self, text: &str) -> Option<Node> {
        match parse(text) {
            Ok(node) => node.filter(|node| !node.is_null()),
            Err(Broken { line, message }) => {
                self.error(line, message);
                None
            }
        }
    }

    /// The fields of a map; `what` names the node in messages.
    pub(super) fn fields<'n>(&mut self, node: &'n Node, what: &'static str) -> Fields<'n> {
        let mut fields = Fields { what, line: node.line, entries: Vec::new() };
        let Value::Map(entries) = &node.value else {
            if !node.is_null() {
                self.error(node.line, format!("{what} must be a map"));
            }
            return fields;
        };
        for (key, value) in entries {
            if fields.entries.iter().any(|(known, _)| known.text == key.text) {
                self.error(key.line, format!("`{}` is given twice in {what}", key.text));
            } else {
                fields.entries.push((key, value));
            }
        }
        fields
    }

    /// The entries of a list; `what` names the node in messages.
    pub(super) fn list<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        match &node.value {
            Value::List(nodes) => nodes,
            _ => {
                self.error(node.line, format!("{what} must be a list"));
                &[]
            }
        }
    }

    /// The text of a scalar.
    pub(super) fn text<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        match &node.value {
            Value::Scalar { text, .. } => Some(text),
            _ => {
                self.error(node.line, format!("{what} must be a single value"));
                None
            }
        }
    }

    /// A whole number that `T` can hold.
    pub(super) fn number<T: std::str::FromStr>(&mut self, node: &Node, what: &str) -> Option<T> {
        let text = self.text(node, what)?;
        let number = text.trim().parse().ok();
        if number.is_none() {
            self.error(node.line, format!("{what}: `{text}` is not a number that fits here"));
        }
        number
    }

    /// Numbers, given as a list or as one value.
    pub(super) fn numbers<T: std::str::FromStr>(&mut self, node: &Node, what: &str) -> Vec<T> {
        match &node.value {
            Value::List(nodes) => nodes.iter().filter_map(|node| self.number(node, what)).collect(),
            _ => self.number(node, what).into_iter().collect(),
        }
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, node: &Node, what: &str) -> Option<bool> {
        match self.text(node, what)? {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            other => {
                self.error(node.line, format!("{what}: `{other}` is neither `true` nor `false`"));
                None
            }
        }
    }
}

impl Node {
    /// Nothing, `~` or `null` without quotes.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null"))
    }
}

/// A map's fields; whoever reads them takes the known ones out and lets [`Fields::finish`] refuse the rest.
pub(super) struct Fields<'n> {
    what: &'static str,
    pub(super) line: u32,
    entries: Vec<(&'n Key, &'n Node)>,
}

impl<'n> Fields<'n> {
    /// Takes a field out; a field without a value counts as absent.
    pub(super) fn take(&mut self, name: &str) -> Option<&'n Node> {
        let index = self.entries.iter().position(|(key, _)| key.text == name)?;
        Some(self.entries.remove(index).1).filter(|node| !node.is_null())
    }

    /// Takes fields out that say nothing about the run (descriptions, authors).
    pub(super) fn ignore(&mut self, names: &[&str]) {
        self.entries.retain(|(key, _)| !names.contains(&key.text.as_str()));
    }

    /// Whether there is such a field.
    pub(super) fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|(key, _)| key.text == name)
    }

    /// All fields, for a map whose names are free (headers).
    pub(super) fn into_entries(self) -> impl Iterator<Item = (&'n str, &'n Node)> {
        self.entries.into_iter().map(|(key, node)| (key.text.as_str(), node))
    }

    /// Refuses every field that nobody took.
    pub(super) fn finish(self, reader: &mut Reader<'_>) {
        for (key, _) in self.entries {
            reader.error(key.line, format!("unknown field `{}` in {}", key.text, self.what));
        }
    }
}

/// Why a document could not be read.
struct Broken {
    line: u32,
    message: String,
}

impl Broken {
    fn at(span: &Span, message: &str) -> Self {
        Self { line: line_of(span), message: message.to_owned() }
    }
}

impl From<ScanError> for Broken {
    fn from(error: ScanError) -> Self {
        Self { line: u32::try_from(error.marker().line()).unwrap_or(u32::MAX), message: error.info().to_owned() }
    }
}

fn line_of(span: &Span) -> u32 {
    u32::try_from(span.start.line()).unwrap_or(u32::MAX)
}

type Events<'t> = Parser<'t, saphyr_parser::StrInput<'t>>;

fn parse(text: &str) -> Result<Option<Node>, Broken> {
    let mut events = Parser::new_from_str(text);
    let mut root = None;
    while let Some(event) = events.next_event() {
        let (event, span) = event?;
        match event {
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
            Event::StreamEnd => break,
            _ if root.is_some() => return Err(Broken::at(&span, "a second document in one file")),
            first => root = Some(node(first, span, &mut events, 0)?),
        }
    }
    Ok(root)
}

fn node<'t>(event: Event<'t>, span: Span, events: &mut Events<'t>, depth: usize) -> Result<Node, Broken> {
    if depth > MAX_DEPTH {
        return Err(Broken::at(&span, "nested too deeply"));
    }
    let value = match event {
        Event::Scalar(text, style, ..) => scalar(text, style),
        Event::SequenceStart(..) => Value::List(list(events, depth)?),
        Event::MappingStart(..) => Value::Map(map(events, depth)?),
        Event::Alias(_) => return Err(Broken::at(&span, "aliases are not used in test files; quote a leading `*`")),
        _ => return Err(Broken::at(&span, "unexpected end of a collection")),
    };
    Ok(Node { line: line_of(&span), value })
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle) -> Value {
    Value::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain }
}

fn list<'t>(events: &mut Events<'t>, depth: usize) -> Result<Vec<Node>, Broken> {
    let mut nodes = Vec::new();
    while let Some(event) = events.next_event() {
        match event? {
            (Event::SequenceEnd, _) => break,
            (event, span) => nodes.push(node(event, span, events, depth + 1)?),
        }
    }
    Ok(nodes)
}

fn map<'t>(events: &mut Events<'t>, depth: usize) -> Result<Vec<(Key, Node)>, Broken> {
    let mut entries = Vec::new();
    while let Some(event) = events.next_event() {
        let (event, span) = event?;
        let key = match event {
            Event::MappingEnd => break,
            Event::Scalar(text, ..) => Key { text: text.into_owned(), line: line_of(&span) },
            _ => return Err(Broken::at(&span, "the name of a field must be a single value")),
        };
        let Some(event) = events.next_event() else { break };
        let (event, span) = event?;
        entries.push((key, node(event, span, events, depth + 1)?));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<Node>, Vec<String>) {
        let mut errors = Vec::new();
        let node = Reader::new("t.yaml".into(), &mut errors).document(text);
        (node, errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn scalars_stay_text_and_know_their_line() {
        let (node, errors) = read("# a comment\na: 22\nb: |\n  one\n  two\nc: \"x\\ry\"\n");
        assert!(errors.is_empty(), "{errors:?}");
        let Some(Node { value: Value::Map(entries), .. }) = node else { panic!("not a map: {node:?}") };
        let flat: Vec<_> = entries
            .iter()
            .map(|(key, node)| match &node.value {
                Value::Scalar { text, plain } => (key.text.as_str(), key.line, text.as_str(), *plain),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(flat, [("a", 2, "22", true), ("b", 3, "one\ntwo\n", false), ("c", 6, "x\ry", false)]);
    }

    #[test]
    fn what_is_broken_is_refused_with_its_line() {
        for (text, expected) in [
            ("a: 1\nb: *x\n", "t.yaml:2: "),
            ("a: [1, 2\n", "t.yaml:"),
            ("a: 1\n---\nb: 2\n", "t.yaml:3: a second document in one file"),
        ] {
            let (_, errors) = read(text);
            assert!(errors.len() == 1 && errors[0].starts_with(expected), "{text:?}: {errors:?}");
        }
        let deep = "[".repeat(100);
        assert!(read(&deep).1[0].contains("nested too deeply"));
    }

    #[test]
    fn an_empty_document_is_none() {
        assert_eq!(read("# only a comment\n"), (None, Vec::new()));
        assert_eq!(read(""), (None, Vec::new()));
    }

    #[test]
    fn duplicates_and_unknown_fields_are_refused() {
        let mut errors = Vec::new();
        let mut reader = Reader::new("t.yaml".into(), &mut errors);
        let node = reader.document("a: 1\nb: 2\na: 3\nc: ~\n").unwrap();
        let mut fields = reader.fields(&node, "the test");
        assert!(fields.take("a").is_some() && fields.take("c").is_none());
        fields.finish(&mut reader);
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, ["t.yaml:3: `a` is given twice in the test", "t.yaml:2: unknown field `b` in the test"]);
    }
}
