//! Builds the prefilter of a rule set: which rules it covers, and the conditions and transformation trees they share.

mod chains;
mod guards;
mod questions;
mod relays;
mod sources;
mod trees;

use std::sync::atomic::{AtomicU64, Ordering};

use self::chains::Stages;
use self::guards::Guards;
use self::sources::coverable;
use super::footprint;
use crate::model::Phase;
use crate::ruleset::index::{RuleBits, RuleIndex, TransformationTree};
use crate::ruleset::prefilter::literals::Literals;
use crate::ruleset::prefilter::signature::{Signature, Signatures};
use crate::ruleset::prefilter::{Entries, Entry, PhaseParts, Prefilter, Question, insert};
use crate::ruleset::rule::{Link, Operator, Rule};
use crate::vocab::byte_set::ByteSet;
use crate::vocab::necessary::Necessary;
use crate::vocab::transformations::TRANSFORMATIONS;

/// The longest least length that makes a difference; operators that need more are asked from here on.
const LONGEST: usize = 32;

static NEXT_IDENTITY: AtomicU64 = AtomicU64::new(1);

/// A rule that the prefilter covers, on its way to an [`Entry`].
struct Covered<'r> {
    link: &'r Link,
    index: RuleIndex,
    early: bool,
    stages: Stages,
    necessary: Necessary,
}

/// The prefilter of these rules. `necessary` holds the conditions of each rule's starter.
pub(super) fn build(
    rules: &[Rule],
    phases: &[Vec<RuleIndex>; 5],
    tree: &TransformationTree,
    necessary: Vec<Necessary>,
) -> Prefilter {
    let covered: Vec<Covered<'_>> = cover(rules, tree, necessary);
    let guards = guards::find(rules, phases);
    let sets = Sets::choose(&covered);
    let words = covered.len().div_ceil(64);
    let empty = || vec![0; words].into_boxed_slice();
    let mut with_clause = [empty(), empty()];
    let literals = literals(&covered, &mut with_clause);
    let entries = covered.iter().map(|covered| Entry {
        rule: covered.index,
        place: place_in_phase(phases, covered),
        needs: sets.needs_of(covered),
        guards: guards.of(covered.index),
        as_is: covered.stages.as_is,
        lower: covered.stages.lower,
    });
    let reads_matches_before = rules.iter().any(footprint::reads_match_before);
    let find = |list: &[RuleIndex]| questions::find(rules, list, reads_matches_before);
    let parts = [false, true].map(|late| parts(phases, &covered, late, find));
    let (nodes, sources) = trees::build(&covered, &sets, words);
    Prefilter {
        entries: entries.collect(),
        starts: starts(&covered, &guards),
        asked: questions::slots(&parts),
        phases: parts,
        reads_matches_before,
        relays: relays::find(rules),
        words,
        sources,
        nodes,
        signatures: Signatures::new(&sets.0),
        literals,
        with_clause,
        by_length: by_length(&covered, words),
        guards: guards.rules,
        identity: NEXT_IDENTITY.fetch_add(1, Ordering::Relaxed),
    }
}

fn cover<'r>(rules: &'r [Rule], tree: &TransformationTree, necessary: Vec<Necessary>) -> Vec<Covered<'r>> {
    let mut covered = Vec::new();
    for (number, (rule, necessary)) in rules.iter().zip(necessary).enumerate() {
        let Some(link) = rule.links.first().filter(|link| is_coverable(rule, link)) else { continue };
        // A place among the entries is 16 bits.
        let Some(index) = u32::try_from(number).ok().filter(|_| covered.len() < usize::from(u16::MAX)) else { break };
        let path = tree.path(link.transformations);
        covered.push(Covered {
            link,
            index: RuleIndex(index),
            early: rule.info.phase == Phase::RequestHeaders,
            stages: if link.multi_match { Stages::each(path) } else { Stages::last(path) },
            necessary: if link.negated { Necessary::nothing() } else { worth_their_bits(necessary) },
        });
    }
    covered
}

/// Where literals have to be there, sets rule little more out: the rarest is enough, and others get its bits.
fn worth_their_bits(mut necessary: Necessary) -> Necessary {
    if !necessary.clauses.is_empty() {
        necessary.sets.truncate(1);
    }
    necessary
}

/// Whether what the starter looks at and how is fixed by the request alone.
fn is_coverable(rule: &Rule, link: &Link) -> bool {
    let early = match rule.info.phase {
        Phase::RequestHeaders => true,
        Phase::RequestBody => false,
        _ => return false,
    };
    let operator = match &link.operator {
        Operator::Prepared(_) => true,
        Operator::Compare { argument, .. } => argument.as_literal().is_some(),
        Operator::Always | Operator::Never | Operator::PreparedLate { .. } => false,
    };
    operator && !link.targets.is_empty() && link.targets.iter().all(|target| coverable(target, early))
}

/// The place of a rule in the list of its phase.
fn place_in_phase(phases: &[Vec<RuleIndex>; 5], covered: &Covered<'_>) -> usize {
    let list = phases.get(usize::from(!covered.early)).map_or(&[][..], Vec::as_slice);
    list.binary_search(&covered.index).unwrap_or(usize::MAX)
}

/// The covered rules before which values are looked at. Where there are guards those before the first guard run before
/// the paranoia level is set: too early to know which others will run.
fn starts(covered: &[Covered<'_>], guards: &Guards) -> RuleBits {
    let mut starts = RuleBits::default();
    for covered in covered {
        if guards.rules.is_empty() || guards.of(covered.index) != 0 {
            starts.insert(covered.index);
        }
    }
    starts
}

fn parts(
    phases: &[Vec<RuleIndex>; 5],
    covered: &[Covered<'_>],
    late: bool,
    questions: impl Fn(&[RuleIndex]) -> Vec<Question>,
) -> PhaseParts {
    let list = phases.get(usize::from(late)).map_or(&[][..], Vec::as_slice);
    let mut parts = PhaseParts {
        uncovered: vec![0; list.len().div_ceil(64)],
        entries: vec![0; covered.len().div_ceil(64)].into(),
        questions: questions(list),
    };
    (0..list.len()).for_each(|place| insert(&mut parts.uncovered, place));
    for (entry, covered) in covered.iter().enumerate().filter(|(_, covered)| covered.early != late) {
        insert(&mut parts.entries, entry);
        let place = place_in_phase(phases, covered);
        if let Some(word) = parts.uncovered.get_mut(place / 64) {
            *word &= !(1 << (place % 64));
        }
    }
    parts
}

fn by_length(covered: &[Covered<'_>], words: usize) -> Vec<Entries> {
    (0..=LONGEST)
        .map(|length| {
            let mut entries = vec![0; words].into_boxed_slice();
            for (place, covered) in covered.iter().enumerate() {
                if covered.necessary.min_len.min(LONGEST) <= length {
                    insert(&mut entries, place);
                }
            }
            entries
        })
        .collect()
}

fn literals(covered: &[Covered<'_>], with_clause: &mut [Entries; 2]) -> Literals {
    let mut clauses = Vec::new();
    for (entry, covered) in (0u16..).zip(covered) {
        for (slot, clause) in (0u8..2).zip(&covered.necessary.clauses) {
            clauses.push(((entry, slot), clause.0.as_slice()));
        }
    }
    let (literals, taken) = Literals::new(&clauses, covered.len().div_ceil(64));
    for ((entry, slot), _) in clauses.iter().zip(taken).filter(|(_, taken)| *taken).map(|(clause, _)| clause) {
        if let Some(entries) = with_clause.get_mut(usize::from(*slot)) {
            insert(entries, usize::from(*entry));
        }
    }
    literals
}

/// The sets of bytes that signatures tell about, in the order of their bits.
struct Sets(Vec<ByteSet>);

impl Sets {
    /// First upper case letters ([`crate::ruleset::prefilter::signature::UPPER`]), then what
    /// makes transformations act, then the conditions that most rules share.
    fn choose(covered: &[Covered<'_>]) -> Self {
        let mut sets = Self(vec![ByteSet::of_range(b'A', b'Z')]);
        for transformation in covered.iter().flat_map(|covered| covered.stages.chains.iter().flatten()) {
            sets.add(chains::triggers(*transformation));
            sets.add(chains::triggers_of_more_than_a_byte(*transformation));
        }
        let mut wanted: Vec<(ByteSet, usize)> = Vec::new();
        for covered in covered {
            for set in covered.necessary.sets.iter().filter(|set| !is_of_letters(**set)) {
                let set = folded(*set, covered.stages.lower);
                match wanted.iter_mut().find(|(known, _)| *known == set) {
                    Some((_, uses)) => *uses += 1,
                    None => wanted.push((set, 1)),
                }
            }
        }
        wanted.sort_by_key(|(_, uses)| std::cmp::Reverse(*uses));
        wanted.into_iter().for_each(|(set, _)| sets.add(set));
        sets.0.truncate(Signatures::MAX);
        sets
    }

    fn add(&mut self, set: ByteSet) {
        if set != ByteSet::ALL && !self.0.contains(&set) {
            self.0.push(set);
        }
    }

    /// The bit of a set; 0 when it has none.
    fn bit(&self, set: ByteSet) -> Signature {
        self.0.iter().position(|known| *known == set).map_or(0, |bit| 1 << bit)
    }

    fn needs_of(&self, covered: &Covered<'_>) -> Signature {
        let sets = &covered.necessary.sets;
        sets.iter().fold(0, |bits, set| bits | self.bit(folded(*set, covered.stages.lower)))
    }
}

/// Sets of letters are in many values and not in others, without saying much: they would only make values differ.
fn is_of_letters(set: ByteSet) -> bool {
    set.iter().all(|byte| byte.is_ascii_alphanumeric()) && set.len() > 2
}

/// What is looked for in a value that is not yet in lower case.
fn folded(set: ByteSet, lower: bool) -> ByteSet {
    if lower { set.fold_case() } else { set }
}

/// A transformation's name, for the tables below.
fn name(transformation: usize) -> &'static str {
    TRANSFORMATIONS.get(transformation).map_or("", |transformation| transformation.name)
}
