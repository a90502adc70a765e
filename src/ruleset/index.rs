//! Tables over all rules: sets of rules, interned TX names, and the tree of transformation lists.

use rustc_hash::FxHashMap;

/// The place of a rule in [`super::RuleSet`], in load order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RuleIndex(pub(crate) u32);

impl RuleIndex {
    pub(crate) const fn get(self) -> usize {
        self.0 as usize
    }
}

/// A set of rules, one bit each.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RuleBits {
    words: Vec<u64>,
}

impl RuleBits {
    /// Adds a rule.
    pub fn insert(&mut self, rule: RuleIndex) {
        let word = rule.get() / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        if let Some(bits) = self.words.get_mut(word) {
            *bits |= 1 << (rule.get() % 64);
        }
    }

    /// Adds all rules of another set.
    pub fn insert_all(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (bits, more) in self.words.iter_mut().zip(&other.words) {
            *bits |= more;
        }
    }

    /// Whether the rule is in the set.
    pub fn contains(&self, rule: RuleIndex) -> bool {
        self.words.get(rule.get() / 64).is_some_and(|bits| bits & (1 << (rule.get() % 64)) != 0)
    }

    /// Whether no rule is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|bits| *bits == 0)
    }

    /// Removes all rules, keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
    }
}

/// The place of a TX variable whose name is known at load time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TxSlot(pub(crate) u16);

impl TxSlot {
    /// Whether it is one of `TX.0` to `TX.9`.
    pub(crate) const fn is_capture(self) -> bool {
        self.0 < 10
    }

    pub(crate) const fn get(self) -> usize {
        self.0 as usize
    }
}

/// TX names known at load time. Slots 0 to 9 are the captures `TX.0` to `TX.9`.
#[derive(Clone, Debug)]
pub struct TxNames {
    names: Vec<Box<[u8]>>,
    slots: FxHashMap<Box<[u8]>, TxSlot>,
}

impl Default for TxNames {
    fn default() -> Self {
        let mut names = Self { names: Vec::new(), slots: FxHashMap::default() };
        for digit in b'0'..=b'9' {
            names.intern(&[digit]);
        }
        names
    }
}

impl TxNames {
    /// The slot of a name (any case), made when it is new; `None` when there are no slots left.
    pub fn intern(&mut self, name: &[u8]) -> Option<TxSlot> {
        let lower = name.to_ascii_lowercase();
        if let Some(slot) = self.slots.get(lower.as_slice()) {
            return Some(*slot);
        }
        let slot = TxSlot(u16::try_from(self.names.len()).ok()?);
        self.names.push(lower.clone().into());
        self.slots.insert(lower.into(), slot);
        Some(slot)
    }

    /// The slot of a lower-case name, if it was known at load time.
    pub fn find(&self, lower_name: &[u8]) -> Option<TxSlot> {
        self.slots.get(lower_name).copied()
    }

    /// The lower-case name of a slot.
    pub fn name(&self, slot: TxSlot) -> &[u8] {
        self.names.get(slot.get()).map_or(&[], |name| name)
    }

    /// All slots and their names.
    pub fn iter(&self) -> impl Iterator<Item = (TxSlot, &[u8])> {
        self.names.iter().enumerate().filter_map(|(place, name)| Some((TxSlot(u16::try_from(place).ok()?), &**name)))
    }

    /// How many slots there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none; never the case, since the captures always have theirs.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// A node of the [`TransformationTree`]: the list of transformations from the root to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct TransformationNode(pub(crate) u16);

impl TransformationNode {
    /// No transformation at all.
    pub const ROOT: Self = Self(0);
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    parent: TransformationNode,
    transformation: usize,
}

/// All lists of transformations that rules use, as a tree: lists with a common beginning share it, so that a value can
/// be transformed once for all of them.
#[derive(Clone, Default, Debug)]
pub struct TransformationTree {
    /// The step that leads to node `index + 1`.
    steps: Vec<Step>,
    paths: Vec<Box<[usize]>>,
}

impl TransformationTree {
    /// The node of a list of transformations (places in `TRANSFORMATIONS`).
    pub fn intern(&mut self, list: &[usize]) -> TransformationNode {
        let mut node = TransformationNode::ROOT;
        for (depth, transformation) in list.iter().enumerate() {
            let step = Step { parent: node, transformation: *transformation };
            let known = self.steps.iter().position(|other| *other == step);
            let index = known.unwrap_or_else(|| {
                self.steps.push(step);
                self.paths.push(list.get(..=depth).unwrap_or_default().into());
                self.steps.len() - 1
            });
            node = TransformationNode(u16::try_from(index + 1).unwrap_or(u16::MAX));
        }
        node
    }

    /// The transformations from the root to a node, as places in `TRANSFORMATIONS`.
    pub fn path(&self, node: TransformationNode) -> &[usize] {
        (node.0 as usize).checked_sub(1).and_then(|index| self.paths.get(index)).map_or(&[], |path| path)
    }

    /// The node before this one and the transformation in between; `None` for the root.
    pub fn parent(&self, node: TransformationNode) -> Option<(TransformationNode, usize)> {
        let step = self.steps.get((node.0 as usize).checked_sub(1)?)?;
        Some((step.parent, step.transformation))
    }

    /// The number of nodes, the root included.
    pub fn len(&self) -> usize {
        self.steps.len() + 1
    }

    /// Whether there is no transformation at all.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}
