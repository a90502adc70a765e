//! Names of headers that a rule hands over in vain, see [`Relay`]: nearly all requests have the same.
//!
//! Everything that the answer follows from is compared before it is believed.
//!
//! [`Relay`]: crate::ruleset::prefilter::Relay

use std::hash::Hasher as _;

use rustc_hash::FxHasher;

use crate::ruleset::index::RuleIndex;

/// Places; a name drives out the one in its place.
const PLACES: usize = 256;

/// Longer names are not kept.
const LONGEST: usize = 64;

/// Longer arguments are not, either. Together these bound what a worker keeps: 350 KiB.
const LONGEST_ARGUMENT: usize = 1_024;

/// What was handed over, and to whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HandedOver<'h> {
    /// The prefilter of the rule set, and the rule.
    pub(crate) to: (u64, RuleIndex),
    /// The argument of the next link's operator.
    pub(crate) argument: &'h [u8],
    /// The name as the client wrote it.
    pub(crate) name: &'h [u8],
    /// The name as the rule matched it.
    pub(crate) value: &'h [u8],
}

/// What was handed over in vain.
#[derive(Default, Debug)]
pub(crate) struct Relayed {
    kept: Vec<Kept>,
    off: bool,
}

#[derive(Clone, Default, Debug)]
struct Kept {
    to: Option<(u64, RuleIndex)>,
    argument: Vec<u8>,
    name: Vec<u8>,
    value: Vec<u8>,
    /// The work it took to find out.
    work: usize,
}

impl Relayed {
    /// Keeps nothing.
    pub(crate) const OFF: Self = Self { kept: Vec::new(), off: true };

    /// The work it took to find out that it is in vain, if that is known.
    pub(crate) fn in_vain(&self, given: HandedOver<'_>) -> Option<usize> {
        let kept = self.kept.get(place(given))?;
        let known = kept.to == Some(given.to)
            && kept.name == given.name
            && kept.value == given.value
            && kept.argument == given.argument;
        known.then_some(kept.work)
    }

    /// Keeps that it is in vain.
    pub(crate) fn keep(&mut self, given: HandedOver<'_>, work: usize) {
        let fits = given.name.len().max(given.value.len()) <= LONGEST && given.argument.len() <= LONGEST_ARGUMENT;
        if self.off || !fits {
            return;
        }
        if self.kept.is_empty() {
            self.kept.resize(PLACES, Kept::default());
        }
        let Some(kept) = self.kept.get_mut(place(given)) else { return };
        kept.to = Some(given.to);
        for (text, new) in
            [(&mut kept.argument, given.argument), (&mut kept.name, given.name), (&mut kept.value, given.value)]
        {
            text.clear();
            text.extend_from_slice(new);
        }
        kept.work = work;
    }
}

/// Names that are made to meet in one place only drive each other out.
fn place(given: HandedOver<'_>) -> usize {
    let mut hasher = FxHasher::default();
    hasher.write_u32(given.to.1.0);
    hasher.write(given.name);
    (hasher.finish() >> 20) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_the_same_in_all_is_known() {
        let given = HandedOver { to: (1, RuleIndex(2)), argument: b"/a/", name: b"Host", value: b"host" };
        let mut relayed = Relayed::default();
        assert_eq!(relayed.in_vain(given), None);
        relayed.keep(given, 7);
        assert_eq!(relayed.in_vain(given), Some(7));
        for other in [
            HandedOver { to: (2, RuleIndex(2)), ..given },
            HandedOver { to: (1, RuleIndex(3)), ..given },
            HandedOver { argument: b"/host/", ..given },
            HandedOver { name: b"host", ..given },
            HandedOver { value: b"Host", ..given },
        ] {
            assert_eq!(relayed.in_vain(other), None, "{other:?}");
        }
        let long = [b'a'; LONGEST + 1];
        let argument = [b'a'; LONGEST_ARGUMENT + 1];
        for long in [HandedOver { name: &long, ..given }, HandedOver { argument: &argument, ..given }] {
            relayed.keep(long, 7);
            assert_eq!(relayed.in_vain(long), None);
        }
        let mut off = Relayed::OFF;
        off.keep(given, 7);
        assert_eq!(off.in_vain(given), None);
    }
}
