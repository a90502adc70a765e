//! Whether any rule matches on the value of one header, looked at alone.

use super::scratch::{Scratch, Work};
use crate::ruleset::RuleSet;
use crate::ruleset::index::{RuleIndex, TransformationNode};
use crate::ruleset::prefilter::Prefilter;
use crate::ruleset::prefilter::literals::Literals;
use crate::ruleset::prefilter::signature::{Signature, UPPER};
use crate::ruleset::rule::{Link, Operator};
use crate::vocab::transformations::{self, TRANSFORMATIONS};
use crate::vocab::variables::Variable;

/// Longer values are not looked at, so that the request is evaluated whole: nobody looks at its limits here.
const LONGEST: usize = 8 << 10;

/// What there is to ask about the values of one header: worked out once, since on a hit in the verdict cache it is most
/// of the work.
///
/// When neither the old value of a header nor the new one matches anywhere, both requests get the same outcome: the
/// rules learn from a value only whether it matches. Used by the verdict cache for volatile headers; only for headers
/// that [`crate::ruleset::Footprint::screenable`] admits.
#[derive(PartialEq, Eq, Debug)]
pub struct Screen {
    forms: Vec<Form>,
    /// Links that look at the value before each transformation, too.
    each: Vec<(RuleIndex, usize)>,
}

/// What transformations make of the value, and who looks at it.
#[derive(PartialEq, Eq, Debug)]
struct Form {
    node: TransformationNode,
    steps: Vec<Step>,
    readers: Vec<Reader>,
}

/// A transformation, and the bytes without which it changes nothing; none if it always may.
#[derive(PartialEq, Eq, Debug)]
struct Step {
    transformation: usize,
    triggers: Signature,
}

/// A link, and what the prefilter knows of the values it matches.
#[derive(PartialEq, Eq, Debug)]
struct Reader {
    rule: RuleIndex,
    link: usize,
    needs: Signature,
    /// Its entry in the prefilter, and which of its clauses have to be fulfilled.
    entry: usize,
    clauses: [bool; 2],
}

impl Screen {
    /// What any rule looks at in a header with this name: starters and links, in any phase, levels and run-time removals
    /// left aside.
    pub fn new(rules: &RuleSet, name: &[u8]) -> Self {
        let mut screen = Self { forms: Vec::new(), each: Vec::new() };
        for (rule, number) in &rules.footprint.header_links {
            let link = rules.rule(*rule).and_then(|rule| rule.links.get(*number));
            match link.filter(|link| reads_header(link, name)) {
                Some(link) if link.multi_match => screen.each.push((*rule, *number)),
                Some(link) => {
                    let reader = Reader::new(&rules.prefilter, *rule, *number);
                    screen.form(rules, link.transformations).readers.push(reader);
                }
                None => {}
            }
        }
        screen
    }

    /// The form that these transformations make.
    fn form(&mut self, rules: &RuleSet, node: TransformationNode) -> &mut Form {
        let place = self.forms.iter().position(|form| form.node == node).unwrap_or(self.forms.len());
        if place == self.forms.len() {
            let path = rules.transformations.path(node).iter();
            let steps = path.map(|transformation| Step::new(&rules.prefilter, *transformation)).collect();
            self.forms.push(Form { node, steps, readers: Vec::new() });
        }
        #[expect(clippy::indexing_slicing, reason = "the place was found or made just now")]
        &mut self.forms[place]
    }

    /// Whether any rule matches on this value of the header. A very long one counts as matching.
    pub fn matches(&self, rules: &RuleSet, value: &[u8], scratch: &mut Scratch) -> bool {
        if value.len() > LONGEST {
            return true;
        }
        let Work { transformed: [from, to], screened: [as_sent, as_transformed], .. } = &mut scratch.work;
        let mut sent = Text::new(rules, value, as_sent);
        self.forms.iter().any(|form| match form.changes(rules, &sent, from, to) {
            false => form.matches(rules, &mut sent),
            true => form.matches(rules, &mut Text::new(rules, from, as_transformed)),
        }) || self.each.iter().any(|(rule, link)| {
            let link = rules.rule(*rule).and_then(|rule| rule.links.get(*link));
            link.is_none_or(|link| matches_at_each(rules, link, value, from, to))
        })
    }
}

#[cfg(test)]
impl Screen {
    /// The same without what the prefilter knows, link by link.
    pub(crate) fn matches_plainly(&self, rules: &RuleSet, value: &[u8]) -> bool {
        let (mut from, mut to) = (Vec::new(), Vec::new());
        let readers = self.forms.iter().flat_map(|form| &form.readers);
        let links = readers.map(|reader| (reader.rule, reader.link)).chain(self.each.iter().copied());
        let mut links = links.filter_map(|(rule, link)| rules.rule(rule)?.links.get(link));
        links.any(|link| {
            let matched = matches_at_each(rules, link, value, &mut from, &mut to);
            if link.multi_match { matched } else { matches_now(link, &from) }
        })
    }
}

/// A value as the readers of a form see it.
struct Text<'t> {
    bytes: &'t [u8],
    signature: Signature,
    /// The clauses it fulfils, once they have been looked for.
    fulfilled: &'t mut Vec<u64>,
    scanned: bool,
}

impl<'t> Text<'t> {
    fn new(rules: &RuleSet, bytes: &'t [u8], fulfilled: &'t mut Vec<u64>) -> Self {
        Self { bytes, signature: rules.prefilter.signatures.of(bytes), fulfilled, scanned: false }
    }

    fn fulfils(&mut self, prefilter: &Prefilter, reader: &Reader) -> bool {
        if reader.clauses == [false; 2] {
            return true;
        }
        if !self.scanned {
            self.scanned = true;
            prefilter.literals.scan(self.bytes, self.fulfilled);
        }
        let mut clauses = reader.clauses.iter().zip(Literals::clauses(self.fulfilled));
        clauses.all(|(asked, fulfilled)| !asked || contains(fulfilled, reader.entry))
    }
}

impl Form {
    /// Puts into `from` what becomes of the value; `false` when nothing does.
    fn changes(&self, rules: &RuleSet, value: &Text<'_>, from: &mut Vec<u8>, to: &mut Vec<u8>) -> bool {
        let (mut signature, mut changed) = (value.signature, false);
        for step in &self.steps {
            let text = if changed { from.as_slice() } else { value.bytes };
            // The triggers may be those of longer values.
            if step.triggers != 0 && signature & step.triggers == 0 && text.len() > 1 {
                continue;
            }
            let Some(transformation) = TRANSFORMATIONS.get(step.transformation) else { continue };
            to.clear();
            if (transformation.apply)(text, to, &rules.transformation_context) {
                std::mem::swap(from, to);
                signature = rules.prefilter.signatures.of(from);
                changed = true;
            }
        }
        changed
    }

    fn matches(&self, rules: &RuleSet, text: &mut Text<'_>) -> bool {
        self.readers.iter().any(|reader| {
            text.signature & reader.needs == reader.needs
                && text.fulfils(&rules.prefilter, reader)
                && reader.link(rules).is_none_or(|link| matches_now(link, text.bytes))
        })
    }
}

impl Step {
    /// The prefilter knows it for the transformations of the rules it covers.
    fn new(prefilter: &Prefilter, transformation: usize) -> Self {
        let known = prefilter.nodes.iter().find(|node| node.transformation == transformation);
        let lowercase = transformations::find("lowercase") == Some(transformation);
        let triggers = if lowercase { UPPER } else { known.map_or(0, |node| node.triggers) };
        Self { transformation, triggers }
    }
}

impl Reader {
    /// The prefilter covers starters, and knows nothing of other links.
    fn new(prefilter: &Prefilter, rule: RuleIndex, link: usize) -> Self {
        let entry = prefilter.entries.iter().position(|entry| entry.rule == rule).filter(|_| link == 0);
        let needs = entry.and_then(|entry| prefilter.entries.get(entry)).map_or(0, |entry| entry.needs);
        let clauses = [0, 1].map(|slot| {
            let with = prefilter.with_clause.get(slot);
            entry.is_some_and(|entry| with.is_some_and(|with| contains(with, entry)))
        });
        Self { rule, link, needs, entry: entry.unwrap_or(usize::MAX), clauses }
    }

    fn link<'r>(&self, rules: &'r RuleSet) -> Option<&'r Link> {
        rules.rule(self.rule)?.links.get(self.link)
    }
}

fn contains(entries: &[u64], place: usize) -> bool {
    entries.get(place / 64).is_some_and(|word| word & 1 << (place % 64) != 0)
}

fn reads_header(link: &Link, name: &[u8]) -> bool {
    let excluded = link.exclusions.iter().any(|exclusion| exclusion.covers(Variable::RequestHeaders, name));
    let targets = || link.targets.iter().filter(|target| target.variable == Variable::RequestHeaders && !target.count);
    !excluded && targets().any(|target| target.selector.matches(name))
}

/// Looks at the value before the first transformation and after each that changes it.
fn matches_at_each(rules: &RuleSet, link: &Link, value: &[u8], from: &mut Vec<u8>, to: &mut Vec<u8>) -> bool {
    from.clear();
    from.extend_from_slice(value);
    let mut matched = matches_now(link, from);
    for transformation in rules.transformations.path(link.transformations) {
        let Some(transformation) = TRANSFORMATIONS.get(*transformation) else { continue };
        to.clear();
        if (transformation.apply)(from, to, &rules.transformation_context) {
            std::mem::swap(from, to);
            matched |= matches_now(link, from);
        }
    }
    matched
}

/// Whatever cannot be told from the value alone counts as a match: the cache is then left aside.
fn matches_now(link: &Link, value: &[u8]) -> bool {
    let result = match &link.operator {
        Operator::Never => return false,
        Operator::Always | Operator::PreparedLate { .. } => None,
        Operator::Compare { compare, argument } => argument.as_literal().map(|argument| compare(argument, value)),
        Operator::Prepared(matcher) => matcher.is_match(value, None).ok(),
    };
    result.is_none_or(|result| result != link.negated)
}
