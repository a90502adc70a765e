//! Which rules may match a value as it is and which transformations may change it, worked out once per kind of value and
//! signature.

use crate::ruleset::prefilter::signature::Signature;
use crate::ruleset::prefilter::{Entries, NodeIndex, Prefilter, insert};

/// Rule sets and guard settings whose plans are kept side by side.
const MAX_TABLES: usize = 8;

/// Places for plans in a table; a plan drives out the one in its place, since the client's values choose which there are.
const PLACES: usize = 2_048;

/// The plans of a worker.
#[derive(Default, Debug)]
pub(super) struct Plans {
    /// The one in use is the last.
    tables: Vec<Table>,
}

/// The plans of one rule set while one combination of guards matches.
#[derive(Debug)]
struct Table {
    prefilter: u64,
    guards: u64,
    /// The entries that no matching guard skips.
    live: Entries,
    plans: Vec<Plan>,
}

/// What to do at a node with a value of some signature.
#[derive(Clone, Default, Debug)]
pub(super) struct Plan {
    /// What it is for; `None` while the place is empty.
    key: Option<(NodeIndex, Signature)>,
    /// The live entries that look at the value as it is and whose needs its signature fulfils.
    pub(super) entries: Vec<u64>,
    /// Whether there is any.
    pub(super) any: bool,
    /// The nodes below whose transformations may change the value.
    pub(super) acting: Vec<NodeIndex>,
}

impl Plans {
    /// Makes the table of a prefilter and a combination of guards the one in use.
    pub(super) fn choose(&mut self, prefilter: &Prefilter, guards: u64) {
        let is = |table: &Table| table.prefilter == prefilter.identity && table.guards == guards;
        match self.tables.iter().rposition(is) {
            Some(place) if place + 1 == self.tables.len() => {}
            Some(place) => {
                let table = self.tables.remove(place);
                self.tables.push(table);
            }
            None => {
                if self.tables.len() >= MAX_TABLES {
                    self.tables.remove(0);
                }
                self.tables.push(Table::new(prefilter, guards));
            }
        }
    }

    /// What tells the table in use from all others.
    pub(super) fn table(&self) -> (u64, u64) {
        self.tables.last().map_or((0, 0), |table| (table.prefilter, table.guards))
    }

    /// The entries that no guard skips.
    pub(super) fn live(&self) -> &[u64] {
        self.tables.last().map_or(&[], |table| &table.live)
    }

    /// The plan for a value with this signature at a node.
    pub(super) fn plan(&mut self, prefilter: &Prefilter, node: NodeIndex, signature: Signature) -> &Plan {
        static NOTHING: Plan = Plan { key: None, entries: Vec::new(), any: false, acting: Vec::new() };
        let Some(Table { live, plans, .. }) = self.tables.last_mut() else { return &NOTHING };
        let signature = signature & prefilter.node(node).map_or(0, |node| node.looks_at);
        let folded = (signature ^ (signature >> 64)) as u64 ^ u64::from(node.0) << 40;
        let place = folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - PLACES.ilog2());
        let Some(plan) = plans.get_mut(place as usize) else { return &NOTHING };
        if plan.key != Some((node, signature)) {
            plan.make(prefilter, live, node, signature);
        }
        plan
    }
}

impl Table {
    fn new(prefilter: &Prefilter, guards: u64) -> Self {
        let mut live = vec![0; prefilter.words].into_boxed_slice();
        for (place, entry) in prefilter.entries.iter().enumerate() {
            if entry.guards & guards == 0 {
                insert(&mut live, place);
            }
        }
        Self { prefilter: prefilter.identity, guards, live, plans: vec![Plan::default(); PLACES] }
    }
}

impl Plan {
    fn make(&mut self, prefilter: &Prefilter, live: &[u64], node: NodeIndex, signature: Signature) {
        self.key = Some((node, signature));
        self.entries.clear();
        self.entries.resize(prefilter.words, 0);
        self.acting.clear();
        self.add(prefilter, live, node, signature);
        for (word, bits) in self.entries.iter_mut().enumerate() {
            let mut rest = *bits;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                let needs = prefilter.entries.get(word * 64 + bit as usize).map_or(0, |entry| entry.needs);
                if signature & needs != needs {
                    *bits &= !(1 << bit);
                }
            }
        }
        self.any = self.entries.iter().any(|word| *word != 0);
    }

    /// Adds those who look at the value at a node, and at the nodes below as long as nothing can change it.
    fn add(&mut self, prefilter: &Prefilter, live: &[u64], index: NodeIndex, signature: Signature) {
        let Some(node) = prefilter.node(index) else { return };
        for ((word, entries), live) in self.entries.iter_mut().zip(&node.entries).zip(live) {
            *word |= entries & live;
        }
        for child in &node.children {
            let Some(below) = prefilter.node(*child) else { continue };
            if below.subtree.iter().zip(live).all(|(word, live)| word & live == 0) {
                continue;
            }
            if below.triggers != 0 && signature & below.triggers == 0 {
                self.add(prefilter, live, *child, signature);
            } else {
                self.acting.push(*child);
            }
        }
    }
}
