//! The transformation tree of each kind of value.

use rustc_hash::FxHashMap;

use super::sources::{self, BODY, STREAMS, Stream};
use super::{Covered, Sets, chains};
use crate::ruleset::prefilter::{Node, NodeIndex, Source, insert, members};
use crate::ruleset::rule::Selector;

/// The trees of all kinds of values, and the sources with their roots.
pub(super) fn build(covered: &[Covered<'_>], sets: &Sets, words: usize) -> (Vec<Node>, Vec<Source>) {
    let mut forest = Forest { covered, sets, words, nodes: Vec::new(), roots: FxHashMap::default() };
    let sources = STREAMS.into_iter().chain([BODY]).filter_map(|stream| forest.source(stream)).collect();
    (forest.nodes, sources)
}

struct Forest<'c, 'r> {
    covered: &'c [Covered<'r>],
    sets: &'c Sets,
    words: usize,
    nodes: Vec<Node>,
    /// The tree for each list of entries: kinds of values that the same rules look at share one.
    roots: FxHashMap<Vec<usize>, NodeIndex>,
}

impl Forest<'_, '_> {
    /// The source of a stream; `None` when no rule reads it.
    fn source(&mut self, stream: Stream) -> Option<Source> {
        let links = || self.covered.iter().map(|covered| covered.link);
        if !links().any(|link| link.targets.iter().any(|target| sources::reads_at_all(target, stream))) {
            return None;
        }
        let mut keys: Vec<&[u8]> =
            links().flat_map(|link| sources::keys(&link.targets, &link.exclusions, stream)).collect();
        keys.sort_unstable();
        keys.dedup();
        let root = self.root(stream, None);
        let keyed = keys.into_iter().map(|key| (key.into(), self.root(stream, Some(key))));
        let keyed = keyed.filter(|(_, keyed)| *keyed != root).collect();
        let selector = match (stream.variable, stream.attributes) {
            (crate::vocab::variables::Variable::Xml, false) => Selector::XmlText,
            (crate::vocab::variables::Variable::Xml, true) => Selector::XmlAttributes,
            _ => Selector::All,
        };
        Some(Source { variable: stream.variable, selector, late: stream.late, root, keyed })
    }

    fn root(&mut self, stream: Stream, key: Option<&[u8]>) -> NodeIndex {
        let readers: Vec<usize> = (self.covered.iter().enumerate())
            // Of what comes late, a rule of phase 1 sees nothing.
            .filter(|(_, covered)| !(stream.late && covered.early))
            .filter(|(_, covered)| sources::reads(&covered.link.targets, &covered.link.exclusions, stream, key))
            .map(|(place, _)| place)
            .collect();
        if let Some(root) = self.roots.get(&readers) {
            return *root;
        }
        let root = self.tree(&readers);
        self.roots.insert(readers, root);
        root
    }

    fn tree(&mut self, readers: &[usize]) -> NodeIndex {
        let root = self.node(usize::MAX);
        for place in readers {
            let Some(covered) = self.covered.get(*place) else { continue };
            for chain in &covered.stages.chains {
                let node = chain.iter().fold(root, |node, transformation| self.child(node, *transformation));
                if let Some(node) = self.nodes.get_mut(node.0 as usize) {
                    insert(&mut node.entries, *place);
                    node.least = node.least.min(covered.necessary.min_len);
                }
            }
        }
        self.sum_up(root);
        root
    }

    fn node(&mut self, transformation: usize) -> NodeIndex {
        let index = NodeIndex(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        let none = || vec![0; self.words].into_boxed_slice();
        self.nodes.push(Node {
            transformation,
            triggers: self.sets.bit(chains::triggers(transformation)),
            looks_at: 0,
            entries: none(),
            subtree: none(),
            least: usize::MAX,
            children: Vec::new(),
        });
        index
    }

    fn child(&mut self, parent: NodeIndex, transformation: usize) -> NodeIndex {
        let children = self.nodes.get(parent.0 as usize).map_or(&[][..], |node| &node.children);
        let is = |child: &&NodeIndex| {
            self.nodes.get(child.0 as usize).is_some_and(|node| node.transformation == transformation)
        };
        if let Some(child) = children.iter().find(is) {
            return *child;
        }
        let child = self.node(transformation);
        if let Some(parent) = self.nodes.get_mut(parent.0 as usize) {
            parent.children.push(child);
        }
        child
    }

    /// Fills in what a node says about those below it.
    fn sum_up(&mut self, index: NodeIndex) {
        let Some(mut node) = self.nodes.get(index.0 as usize).cloned() else { return };
        node.subtree.clone_from(&node.entries);
        let own = members(node.entries.iter().copied()).filter_map(|place| self.covered.get(place));
        node.looks_at = own.fold(0, |bits, covered| bits | self.sets.needs_of(covered));
        for child in &node.children {
            self.sum_up(*child);
            let Some(child) = self.nodes.get(child.0 as usize) else { continue };
            node.looks_at |= child.triggers | child.looks_at;
            node.subtree.iter_mut().zip(&child.subtree).for_each(|(word, more)| *word |= more);
            node.least = node.least.min(child.least);
        }
        if node.transformation != usize::MAX {
            node.least = chains::least_input(node.transformation, node.least);
            if node.least > 1 {
                node.triggers = self.sets.bit(chains::triggers_of_more_than_a_byte(node.transformation));
            }
        }
        if let Some(place) = self.nodes.get_mut(index.0 as usize) {
            *place = node;
        }
    }
}
