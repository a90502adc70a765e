//! Whether any rule matches on the value of one header, looked at alone.

use super::scratch::Scratch;
use crate::ruleset::RuleSet;
use crate::ruleset::rule::{Link, Operator};
use crate::vocab::transformations::TRANSFORMATIONS;
use crate::vocab::variables::Variable;

/// Whether any rule matches on this header's value, in any phase, starter or link, levels and run-time removals left
/// aside.
///
/// When neither the old value of a header nor the new one matches anywhere, both requests get the same outcome: the
/// rules learn from a value only whether it matches. Used by the verdict cache for volatile headers; only for headers
/// that [`crate::ruleset::Footprint::screenable`] admits.
pub fn screen(rules: &RuleSet, name: &[u8], value: &[u8], scratch: &mut Scratch) -> bool {
    let links = rules.footprint.header_links.iter();
    let mut links = links.filter_map(|(rule, link)| rules.rule(*rule)?.links.get(*link));
    links.any(|link| reads_header(link, name) && matches_value(rules, link, value, scratch))
}

fn reads_header(link: &Link, name: &[u8]) -> bool {
    let excluded = link.exclusions.iter().any(|exclusion| exclusion.covers(Variable::RequestHeaders, name));
    let targets = || link.targets.iter().filter(|target| target.variable == Variable::RequestHeaders && !target.count);
    !excluded && targets().any(|target| target.selector.matches(name))
}

/// Whatever cannot be told from the value alone counts as a match: the cache is then left aside.
fn matches_value(rules: &RuleSet, link: &Link, value: &[u8], scratch: &mut Scratch) -> bool {
    let [mut from, mut to] = std::mem::take(&mut scratch.work.transformed);
    from.clear();
    from.extend_from_slice(value);
    let mut matched = link.multi_match && matches_now(link, &from);
    for transformation in rules.transformations.path(link.transformations) {
        let Some(transformation) = TRANSFORMATIONS.get(*transformation) else { continue };
        to.clear();
        if (transformation.apply)(&from, &mut to, &rules.transformation_context) {
            std::mem::swap(&mut from, &mut to);
            matched |= link.multi_match && matches_now(link, &from);
        }
    }
    matched |= matches_now(link, &from);
    scratch.work.transformed = [from, to];
    matched
}

fn matches_now(link: &Link, value: &[u8]) -> bool {
    let result = match &link.operator {
        Operator::Never => return false,
        Operator::Always | Operator::PreparedLate { .. } => None,
        Operator::Compare { compare, argument } => argument.as_literal().map(|argument| compare(argument, value)),
        Operator::Prepared(matcher) => matcher.is_match(value, None).ok(),
    };
    result.is_none_or(|result| result != link.negated)
}
