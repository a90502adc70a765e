//! Runs the values of a request through the prefilter, so that rules which cannot match are passed over.
//!
//! Values that are known from the start are looked at once, for the rules of both request phases; those of the body when
//! it has been read. What is found is only which rules have to be evaluated: evaluation itself, in order and with all
//! its effects, is that of the plain path.

mod memo;
mod plan;

use super::transaction::Transaction;
use super::{Path, values};
use crate::model::Phase;
use crate::ruleset::index::{RuleIndex, TransformationNode};
use crate::ruleset::prefilter::literals::Literals;
use crate::ruleset::prefilter::signature::{Signature, UPPER};
use crate::ruleset::prefilter::{Entry, NodeIndex, PhaseParts, Prefilter, Source, insert, members};
use crate::ruleset::rule::{Link, Operator, Rule, Selector, Target};
use crate::vocab::operators::MatchLimit;
use crate::vocab::transformations::TRANSFORMATIONS;
pub(crate) use memo::Memo;
use plan::{Plan, Plans};

/// What the prefilter keeps from value to value and from request to request.
#[derive(Default, Debug)]
pub(crate) struct Sieve {
    plans: Plans,
    /// What was found for values that have been seen before.
    pub(crate) memo: Memo,
    /// The phase that `todo` is about; `None` before any value has been looked at.
    chosen: Option<Phase>,
    /// A bit for the place of each rule of the phase that has to be evaluated.
    todo: Vec<u64>,
    /// Entries that have been looked for in all values of the phase at hand.
    looked_for: Vec<u64>,
    /// Entries that a value was found for.
    found: Vec<u64>,
    spare: Vec<u64>,
    /// The value at hand and what transformations made of it.
    forms: Vec<Form>,
    /// Buffers for forms.
    buffers: Vec<Vec<u8>>,
    /// What a transformation writes to.
    out: Vec<u8>,
    /// Nodes whose children are to be visited with a form.
    pending: Vec<(NodeIndex, usize)>,
    /// What transformations made of the forms of the value at hand.
    steps: Vec<Step>,
    /// Entries that may match the form at hand.
    candidates: Vec<u64>,
    fulfilled: Vec<u64>,
    lower: Vec<u8>,
}

/// A form of the value at hand.
#[derive(Default, Debug)]
struct Form {
    /// The buffer that holds it; `None` for the value itself.
    buffer: Option<usize>,
    signature: Signature,
    /// The entries that look at it; of no meaning until there is any.
    entries: Vec<u64>,
    any: bool,
}

/// A transformation leads from one form to another, or leaves it as it is.
#[derive(Debug)]
struct Step {
    from: usize,
    transformation: usize,
    to: usize,
}

impl Sieve {
    /// Forgets the request before.
    pub(crate) fn reset(&mut self, prefilter: &Prefilter) {
        self.chosen = None;
        zero(&mut self.found, prefilter.words);
    }

    /// Works out which rules of a phase the values leave to be evaluated.
    fn choose(&mut self, prefilter: &Prefilter, parts: &PhaseParts) {
        self.todo.clone_from(&parts.uncovered);
        let words = parts.entries.iter().zip(&self.looked_for).zip(&self.found);
        let open = words.map(|((entries, looked_for), found)| entries & (!looked_for | found));
        for entry in members(open).filter_map(|place| prefilter.entries.get(place)) {
            insert(&mut self.todo, entry.place);
        }
    }

    /// The first place to be evaluated from a place on.
    fn next(&self, place: usize) -> Option<usize> {
        let mut word = place / 64;
        let mut bits = self.todo.get(word)? & (u64::MAX << (place % 64));
        while bits == 0 {
            word += 1;
            bits = *self.todo.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}

fn zero(words: &mut Vec<u64>, count: usize) {
    words.clear();
    words.resize(count, 0);
}

impl<'a> Transaction<'a> {
    /// The next rule of a phase to be evaluated, at `place` in the phase's list or behind it, which is moved on.
    ///
    /// Values are looked at before the first rule that starts a look; from there on only rules that may match are given
    /// out. All others in between cannot, and so change nothing.
    pub(crate) fn next_rule(&mut self, list: &[RuleIndex], phase: Phase, place: &mut usize) -> Option<RuleIndex> {
        if self.path == Path::Plain || phase > Phase::RequestBody {
            *place += 1;
            return list.get(*place - 1).copied();
        }
        if self.work.sieve.chosen != Some(phase) {
            while phase == Phase::RequestHeaders && self.work.prelude.covers(*place) {
                *place += 1;
            }
            let next = *list.get(*place)?;
            if !self.rules.prefilter.starts.contains(next) {
                *place += 1;
                return Some(next);
            }
            self.look(phase);
        }
        if std::mem::take(&mut self.state.steered) {
            self.choose(phase);
        }
        let next = self.work.sieve.next(*place)?;
        *place = next + 1;
        list.get(next).copied()
    }

    /// Looks at all values known by now that have not been looked at.
    fn look(&mut self, phase: Phase) {
        let mut sieve = std::mem::take(&mut self.work.sieve);
        let prefilter = &self.rules.prefilter;
        let late = phase == Phase::RequestBody;
        sieve.plans.choose(prefilter, self.matching_guards());
        if sieve.chosen.is_some() {
            sieve.looked_for.iter_mut().zip(sieve.plans.live()).for_each(|(word, live)| *word &= live);
        } else {
            sieve.looked_for.clear();
            sieve.looked_for.extend_from_slice(sieve.plans.live());
        }
        for source in &prefilter.sources {
            if source.late && late || !source.late && sieve.chosen.is_none() {
                self.look_at_source(&mut sieve, source);
            }
        }
        sieve.chosen = Some(phase);
        self.work.sieve = sieve;
        self.state.steered = true;
    }

    /// Works out which rules of the phase are to be evaluated as things are: those that the values leave, without those
    /// that TX variables rule out.
    fn choose(&mut self, phase: Phase) {
        let prefilter = &self.rules.prefilter;
        let Some(parts) = prefilter.phases.get(phase.index()) else { return };
        self.work.sieve.choose(prefilter, parts);
        if phase == Phase::RequestHeaders {
            let done = self.work.prelude.done();
            self.work.sieve.todo.iter_mut().zip(done).for_each(|(word, done)| *word &= !done);
        }
        for (number, question) in parts.questions.iter().enumerate() {
            if phase == Phase::RequestHeaders && self.work.prelude.answers(number) {
                continue;
            }
            let link = self.rules.rule(question.rule).and_then(|rule| rule.links.first());
            let done = match link.and_then(|link| self.tx_answer(link)) {
                Some(false) => &question.in_vain,
                // A rule that has been removed skips nothing.
                Some(true) if self.state.removed.is_empty() => &question.skipped,
                _ => continue,
            };
            self.work.sieve.todo.iter_mut().zip(done).for_each(|(word, done)| *word &= !done);
        }
    }

    /// The guards that skip their rules as things are, one bit each.
    fn matching_guards(&self) -> u64 {
        let mut bits = 0;
        for (bit, rule) in self.rules.prefilter.guards.iter().enumerate() {
            if self.rules.rule(*rule).is_some_and(|rule| rule.links.iter().all(|link| self.guard_matches(link))) {
                bits |= 1 << bit;
            }
        }
        bits
    }

    fn guard_matches(&self, link: &Link) -> bool {
        self.tx_answer(link) == Some(true)
    }

    /// Whether the rule only compares a TX variable, or its number, with a text, and in vain: more than half of the rules
    /// of the CRS that are not ruled out by the request's values. One that does not match leaves nothing behind.
    #[inline]
    pub(crate) fn asks_in_vain(&self, rule: &Rule) -> bool {
        rule.links.first().is_some_and(|link| self.tx_answer(link) == Some(false))
    }

    /// Whether a link that does no more than compare a TX variable with a text matches; `None` when it does more.
    fn tx_answer(&self, link: &Link) -> Option<bool> {
        let Operator::Compare { compare, argument } = &link.operator else { return None };
        // What is left out is not counted either.
        if !link.exclusions.is_empty() || self.state.removed_of_tx {
            return None;
        }
        let [Target { selector: Selector::Tx(slot), count, .. }] = &*link.targets else { return None };
        let argument = argument.as_literal().filter(|_| link.transformations == TransformationNode::ROOT)?;
        let value = match (count, self.state.tx.get(*slot)) {
            (true, None) => b"0",
            (true, Some(_)) => b"1",
            (false, None) => return Some(false),
            (false, Some(value)) => value,
        };
        Some(compare(argument, value) != link.negated)
    }

    fn look_at_source(&mut self, sieve: &mut Sieve, source: &Source) {
        let (request, input) = (self.request, self.input);
        values::of_request(source.variable, &source.selector, (request, input), &mut |key, value| {
            let root = source.root_of(key);
            if sieve.memo.takes(source.variable, key, value) {
                self.remember(sieve, root, value);
            } else {
                self.look_at_value(sieve, root, value);
            }
        });
    }

    /// Looks at a value, unless what was found for it the last time is still known.
    fn remember(&mut self, sieve: &mut Sieve, root: NodeIndex, value: &[u8]) {
        let table = sieve.plans.table();
        // Known or not, the work counts the same: what a worker has seen before changes no outcome.
        if let Some(work) = sieve.memo.recall(table, root, value, &mut sieve.found) {
            self.spend(work);
            return;
        }
        let spent = self.result.spent;
        // Entries known already are looked for again: what is kept has to be about this value alone.
        let before = std::mem::replace(&mut sieve.found, std::mem::take(&mut sieve.spare));
        zero(&mut sieve.found, before.len());
        self.look_at_value(sieve, root, value);
        if !self.gave_up() {
            let work = usize::try_from(self.result.spent - spent).unwrap_or(usize::MAX);
            sieve.memo.keep(table, root, value, &sieve.found, work);
        }
        sieve.found.iter_mut().zip(&before).for_each(|(word, known)| *word |= known);
        sieve.spare = before;
    }

    fn look_at_value(&mut self, sieve: &mut Sieve, root: NodeIndex, value: &[u8]) {
        if self.gave_up() {
            return;
        }
        let count = self.transform(sieve, root, value);
        for index in 0..count {
            let Sieve { forms, buffers, candidates, found, .. } = &mut *sieve;
            let Some(form) = forms.get(index).filter(|form| form.any) else { continue };
            let length = form.text(value, buffers).len();
            candidates.clone_from(&form.entries);
            let long = self.rules.prefilter.of_length(length);
            let mut any = 0;
            for ((word, long), found) in candidates.iter_mut().zip(long).zip(&*found) {
                *word &= long & !found;
                any |= *word;
            }
            if any != 0 && self.spend(length) {
                self.look_at_form(sieve, index, value);
            }
        }
    }

    /// Makes all forms of a value that any live entry looks at. Returns how many there are.
    fn transform(&mut self, sieve: &mut Sieve, root: NodeIndex, value: &[u8]) -> usize {
        let prefilter = &self.rules.prefilter;
        let Sieve { plans, forms, buffers, pending, steps, out, .. } = sieve;
        let (mut used, mut count) = (0, 0);
        push_form(forms, &mut count, None, prefilter.signatures.of(value));
        steps.clear();
        pending.clear();
        pending.push((root, 0));
        while let Some((node, place)) = pending.pop() {
            let Some(form) = forms.get_mut(place) else { break };
            let plan = plans.plan(prefilter, node, form.signature);
            form.add(plan);
            for child in &plan.acting {
                let Some(next) = prefilter.node(*child) else { continue };
                let Some(form) = forms.get(place) else { break };
                let text = form.text(value, buffers);
                if text.len() < next.least {
                    continue;
                }
                let is = |done: &&Step| (done.from, done.transformation) == (place, next.transformation);
                if let Some(step) = steps.iter().find(is) {
                    pending.push((*child, step.to));
                    continue;
                }
                let Some(entry) = TRANSFORMATIONS.get(next.transformation).filter(|_| self.spend(text.len())) else {
                    continue;
                };
                out.clear();
                let mut to = place;
                if (entry.apply)(text, out, &self.rules.transformation_context) {
                    let signature = prefilter.signatures.of(out);
                    let is =
                        |known: &Form| known.signature == signature && known.text(value, buffers) == out.as_slice();
                    to = forms.iter().take(count).position(is).unwrap_or(count);
                    if to == count {
                        push_form(forms, &mut count, Some(used), signature);
                        keep(buffers, used, out);
                        used += 1;
                    }
                }
                steps.push(Step { from: place, transformation: next.transformation, to });
                pending.push((*child, to));
            }
        }
        count
    }

    /// Runs the candidates' operators on a form, as far as its literals leave any.
    fn look_at_form(&mut self, sieve: &mut Sieve, index: usize, value: &[u8]) {
        let prefilter = &self.rules.prefilter;
        let Sieve { forms, buffers, candidates, fulfilled, found, lower, .. } = sieve;
        let Some(form) = forms.get(index) else { return };
        let text = form.text(value, buffers);
        keep_fulfilled(prefilter, text, candidates, fulfilled);
        let has_upper = form.signature & UPPER != 0;
        lower.clear();
        for place in members(candidates.iter().copied()) {
            let Some(entry) = prefilter.entries.get(place) else { continue };
            if entry.lower && has_upper && lower.is_empty() {
                lower.extend(text.iter().map(u8::to_ascii_lowercase));
            }
            let lower = if has_upper { lower.as_slice() } else { text };
            if entry.as_is && self.confirm(entry, text) || entry.lower && self.confirm(entry, lower) {
                insert(found, place);
            }
        }
    }

    /// Whether the rule of the entry may match this text; what cannot be said counts as yes.
    fn confirm(&mut self, entry: &Entry, text: &[u8]) -> bool {
        let Some(link) = self.rules.rule(entry.rule).and_then(|rule| rule.links.first()) else { return true };
        if !self.spend(text.len() + 1) {
            return true;
        }
        let matched = match &link.operator {
            Operator::Prepared(matcher) => matcher.is_match(text, None),
            Operator::Compare { compare, argument } => Ok(compare(argument.as_literal().unwrap_or_default(), text)),
            Operator::Always | Operator::Never | Operator::PreparedLate { .. } => Err(MatchLimit),
        };
        !matched.is_ok_and(|matched| matched == link.negated)
    }
}

/// Leaves those candidates of whose clauses each is fulfilled.
fn keep_fulfilled(prefilter: &Prefilter, text: &[u8], candidates: &mut [u64], fulfilled: &mut Vec<u64>) {
    let [first, second] = &prefilter.with_clause;
    if candidates.iter().zip(first).all(|(word, with)| word & with == 0) {
        return;
    }
    prefilter.literals.scan(text, fulfilled);
    let [found_first, found_second] = Literals::clauses(fulfilled);
    let clauses = first.iter().zip(second).zip(found_first.iter().zip(found_second));
    for (word, ((first, second), (found_first, found_second))) in candidates.iter_mut().zip(clauses) {
        *word &= (found_first | !first) & (found_second | !second);
    }
}

/// Makes the text in `out` the buffer with this number; `out` gets some older buffer for the next text.
fn keep(buffers: &mut Vec<Vec<u8>>, number: usize, out: &mut Vec<u8>) {
    match buffers.get_mut(number) {
        Some(buffer) => std::mem::swap(buffer, out),
        None => buffers.push(std::mem::take(out)),
    }
}

/// Adds a form, in the memory of an older one where there is some.
fn push_form(forms: &mut Vec<Form>, count: &mut usize, buffer: Option<usize>, signature: Signature) {
    if forms.len() == *count {
        forms.push(Form::default());
    }
    if let Some(form) = forms.get_mut(*count) {
        form.buffer = buffer;
        form.signature = signature;
        form.any = false;
        *count += 1;
    }
}

impl Form {
    /// Adds those who look at it.
    fn add(&mut self, plan: &Plan) {
        if !plan.any {
            return;
        }
        if self.any {
            self.entries.iter_mut().zip(&plan.entries).for_each(|(word, more)| *word |= more);
        } else {
            self.entries.clone_from(&plan.entries);
            self.any = true;
        }
    }

    fn text<'t>(&self, value: &'t [u8], buffers: &'t [Vec<u8>]) -> &'t [u8] {
        self.buffer.map_or(value, |buffer| buffers.get(buffer).map_or(&[], Vec::as_slice))
    }
}
