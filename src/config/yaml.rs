//! YAML text as a tree in which every key and value knows its line and every scalar its text as written.
//!
//! Knows no keys. Scalars are not turned into numbers or booleans here: `010`, `off` and `1.10` stay what they are.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

/// As many nodes as a document may have once its aliases are expanded.
const MAX_NODES: usize = 20_000;
/// As deep as a document may nest.
const MAX_DEPTH: usize = 32;

/// A node of the document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) content: Content,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Content {
    /// Nothing, `~` or `null`.
    Null,
    Scalar(String),
    List(Vec<Node>),
    /// Entries in order, repeated keys kept.
    Map(Vec<(Key, Node)>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Key {
    pub(super) line: usize,
    pub(super) name: String,
}

/// The first thing that is wrong with the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Broken {
    pub(super) line: usize,
    pub(super) what: String,
}

/// Reads a text with at most one document; an empty text is an empty document.
pub(super) fn parse(text: &str) -> Result<Node, Broken> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| Broken {
            line: error.marker().line(),
            what: format!("this is no YAML: {}", error.info()),
        })?;
        builder.event(event, span)?;
    }
    Ok(builder.root.unwrap_or(Node { line: 1, content: Content::Null }))
}

/// A list or map that is not closed yet.
struct Open {
    node: Node,
    anchor: usize,
    key: Option<Key>,
}

#[derive(Default)]
struct Builder {
    root: Option<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl Builder {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Broken> {
        let line = span.start.line();
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) if self.root.is_some() => broken(line, "a second document; there may be one only"),
            Event::DocumentStart(_) => Ok(()),
            Event::SequenceStart(anchor, _) => self.start(line, anchor, Content::List(Vec::new())),
            Event::MappingStart(anchor, _) => self.start(line, anchor, Content::Map(Vec::new())),
            Event::SequenceEnd | Event::MappingEnd => self.end(line),
            Event::Scalar(text, style, anchor, _) => {
                let null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let content = if null { Content::Null } else { Content::Scalar(text.into_owned()) };
                self.put(Node { line, content }, anchor)
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some(node) => self.put(Node { line, ..node }, 0),
                None => broken(line, "an alias of something that is not there yet"),
            },
        }
    }

    fn start(&mut self, line: usize, anchor: usize, content: Content) -> Result<(), Broken> {
        if self.open.len() >= MAX_DEPTH {
            return broken(line, "nested too deep");
        }
        self.open.push(Open { node: Node { line, content }, anchor, key: None });
        Ok(())
    }

    fn end(&mut self, line: usize) -> Result<(), Broken> {
        match self.open.pop() {
            Some(open) => self.put(open.node, open.anchor),
            None => broken(line, "an end without a beginning"),
        }
    }

    fn put(&mut self, node: Node, anchor: usize) -> Result<(), Broken> {
        self.nodes += size(&node);
        if self.nodes > MAX_NODES {
            return broken(node.line, "too large a document");
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut parent.node.content, parent.key.take()) {
            (Content::List(items), _) => items.push(node),
            (Content::Map(entries), Some(key)) => entries.push((key, node)),
            (Content::Map(_), None) => parent.key = Some(key_of(node)?),
            (Content::Null | Content::Scalar(_), _) => {}
        }
        Ok(())
    }
}

/// A container is counted when it ends, its children before it; what an alias brings along is counted anew.
fn size(node: &Node) -> usize {
    match &node.content {
        Content::Null | Content::Scalar(_) => 1,
        Content::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        Content::Map(entries) => 1 + entries.iter().map(|(_, value)| 1 + size(value)).sum::<usize>(),
    }
}

fn key_of(node: Node) -> Result<Key, Broken> {
    match node.content {
        Content::Scalar(name) => Ok(Key { line: node.line, name }),
        Content::Null => Ok(Key { line: node.line, name: String::new() }),
        Content::List(_) | Content::Map(_) => broken(node.line, "a list or a map cannot be a key"),
    }
}

fn broken<T>(line: usize, what: &str) -> Result<T, Broken> {
    Err(Broken { line, what: what.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree on one line, each key and item with its line.
    fn show(node: &Node) -> String {
        match &node.content {
            Content::Null => "-".to_owned(),
            Content::Scalar(text) => format!("`{text}`"),
            Content::List(items) => {
                let items: Vec<_> = items.iter().map(|item| format!("{}@{}", show(item), item.line)).collect();
                format!("[{}]", items.join(" "))
            }
            Content::Map(entries) => {
                let entry = |(key, value): &(Key, Node)| format!("{}@{}:{}", key.name, key.line, show(value));
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(" "))
            }
        }
    }

    #[test]
    fn trees_and_lines() {
        let table = [
            ("", "-"),
            ("# nothing\n", "-"),
            ("a: 010\nb:\n  c: off\n  d: \"null\"\n  e:\n", "{a@1:`010` b@2:{c@3:`off` d@4:`null` e@5:-}}"),
            ("l: [x, 1.10]\nm:\n- y\n-  z\n", "{l@1:[`x`@1 `1.10`@1] m@2:[`y`@3 `z`@4]}"),
            ("a: 1\na: 2\n", "{a@1:`1` a@2:`2`}"),
            ("a: &x {b: 1}\nc: *x\n", "{a@1:{b@1:`1`} c@2:{b@1:`1`}}"),
        ];
        for (text, expected) in table {
            assert_eq!(show(&parse(text).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn what_is_refused_and_where() {
        let laughs = (1..12).fold("a0: &a0 [x,x,x,x,x,x,x,x]\n".to_owned(), |text, i| {
            format!("{text}a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 8].join(","))
        });
        let table = [
            ("a: [1\nb: 2\n", 2),
            ("a: 1\n---\nb: 2\n", 2),
            ("[1, 2]: x\n", 1),
            ("a: \t\n\tb: 1\n", 2),
            (&laughs, 5),
            (&format!("a: {}", "[".repeat(100)), 1),
        ];
        for (text, line) in table {
            let broken = parse(text).unwrap_err();
            assert_eq!(broken.line, line, "{text}: {broken:?}");
        }
    }
}
