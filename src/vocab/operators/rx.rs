//! `@rx` and `@rxGlobal`: patterns in PCRE's syntax.

use super::{BuildContext, BuildError, Captures, MatchLimit, Matcher};
use crate::vocab::pcre::{Groups, Pattern};

#[derive(Debug)]
struct Rx(Pattern);

#[derive(Debug)]
struct RxGlobal(Pattern);

/// Matches when the pattern is found anywhere in the value.
///
/// Argument: a PCRE pattern over bytes; the dot matches line feeds, `^` and `$` only the very ends (ModSecurity 2;
/// version 3 and Coraza take every line end). Captures: the whole match and the groups, up to the last one that took
/// part.
///
/// Example: `SecRule ARGS "@rx (?i)union\s+select"`.
pub(super) fn build(argument: &[u8], context: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    note_necessary(argument, context);
    Ok(Box::new(Rx(Pattern::new(argument, context.match_limit())?)))
}

/// As `@rx`, but captures the groups of all matches one after the other.
///
/// Example: `SecRule ARGS "@rxGlobal id=(\d+)"`.
pub(super) fn build_global(argument: &[u8], context: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    note_necessary(argument, context);
    Ok(Box::new(RxGlobal(Pattern::new(argument, context.match_limit())?)))
}

fn note_necessary(pattern: &[u8], context: &mut dyn BuildContext) {
    if context.wants_necessary() {
        context.take_necessary(Pattern::necessary(pattern));
    }
}

impl Matcher for Rx {
    fn is_match(&self, value: &[u8], captures: Option<&mut Captures>) -> Result<bool, MatchLimit> {
        let Some(captures) = captures else { return self.0.is_match(value) };
        if self.0.is_everything() {
            captures.clear();
            captures.push(value);
            return Ok(true);
        }
        let mut groups = Groups::default();
        let matched = self.0.find_at(value, 0, &mut groups)?;
        if matched {
            push_groups(value, &groups, captures);
        }
        Ok(matched)
    }
}

impl Matcher for RxGlobal {
    fn is_match(&self, value: &[u8], captures: Option<&mut Captures>) -> Result<bool, MatchLimit> {
        let Some(captures) = captures else { return self.0.is_match(value) };
        let mut groups = Groups::default();
        if !self.0.find_at(value, 0, &mut groups)? {
            return Ok(false);
        }
        push_groups(value, &groups, captures);
        while let Some((start, end)) = groups.get(0) {
            let from = if start == end { end + 1 } else { end };
            if from > value.len() || captures.len() == Captures::MAX || !self.0.find_at(value, from, &mut groups)? {
                break;
            }
            // Empty matches beside the first say nothing.
            if groups.get(0).is_some_and(|(start, end)| start < end) {
                add_groups(value, &groups, captures);
            }
        }
        Ok(true)
    }
}

/// Replaces the captures by the groups of one match.
pub(super) fn push_groups(value: &[u8], groups: &Groups, captures: &mut Captures) {
    captures.clear();
    add_groups(value, groups, captures);
}

fn add_groups(value: &[u8], groups: &Groups, captures: &mut Captures) {
    for group in groups.up_to_last() {
        captures.push(group.and_then(|(start, end)| value.get(start..end)).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{captured, matcher};
    use super::*;

    fn texts(captures: Option<Vec<Vec<u8>>>) -> Vec<String> {
        captures.into_iter().flatten().map(|text| text.escape_ascii().to_string()).collect()
    }

    #[test]
    fn captures_end_at_the_last_group_that_took_part() {
        assert_eq!(texts(captured("rx", b"(a)|(b)(x)?(c)?", b"zb")), ["b", "", "b"]);
        assert_eq!(texts(captured("rx", b"(a)?(b)", b"b")), ["b", "", "b"]);
        assert_eq!(texts(captured("rx", b"(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)(a)", &[b'a'; 11])).len(), 10);
        assert_eq!(captured("rx", b"a", b"b"), None);
    }

    #[test]
    fn rx_global_goes_on_behind_each_match() {
        assert_eq!(texts(captured("rxGlobal", b"(.)=", b"a=b=c=")), ["a=", "a", "b=", "b", "c=", "c"]);
        assert_eq!(texts(captured("rxGlobal", b"x*", b"axx")), ["", "xx"]);
        assert_eq!(texts(captured("rxGlobal", b"a", &[b'a'; 20])).len(), 10);
    }

    #[test]
    fn the_step_limit_is_neither_a_match_nor_a_miss() {
        let pattern = matcher("rx", br"^(a|a)*\1c").unwrap();
        // With the `c` that the pattern needs, and not where it needs it.
        let value = [&[b'a'; 40][..], b"!c"].concat();
        assert_eq!(pattern.is_match(&value, None), Err(MatchLimit));
        assert_eq!(pattern.is_match(b"aac", None), Ok(true));
    }
}
