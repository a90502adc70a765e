//! What an operator should read once: which rules are at work, and that bodies never come.
//!
//! Knows no door's protocol.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Door;
use crate::model::{NotInspected, Outcome};
use crate::sets::LoadedSet;

/// Says which rules a policy runs. The baseline that stands in for a missing CRS is a warning: it finds less.
pub(super) fn rules_loaded(policy: &str, generation: u64, set: &LoadedSet) {
    let LoadedSet { name, rule_count: rules, warnings, .. } = set;
    tracing::info!(policy, generation, set = name.as_str(), rules, load_warnings = warnings.len(), "rules loaded");
    if set.fallback {
        tracing::warn!(
            policy,
            "no CRS at hand: the built-in baseline rules stand in and find less; run `make crs` or \
             `portcullis crs install`, or name the set you mean with `rules`"
        );
    }
    if set.scores_unheeded {
        tracing::warn!(
            policy,
            "the rule that turns anomaly scores into denials was taken away, so nothing is blocked by score; \
             see `portcullis rules lint`"
        );
    }
    if set.verified == Some(false) {
        tracing::warn!(
            policy,
            set = name.as_str(),
            "the CRS files differ from the release; see `portcullis crs verify`"
        );
    }
}

/// Remembers which doors were warned about, within one generation of a policy.
#[derive(Default, Debug)]
pub(super) struct BodyWarnings {
    warned: [AtomicBool; Door::ALL.len()],
}

impl BodyWarnings {
    /// Warns when a door hands over a request without the body it has, the first time only: nginx and Caddy never send
    /// bodies, Envoy and Traefik do not unless told to, and the likeliest misconfiguration is not to notice.
    pub(super) fn look(&self, policy: &str, door: Door, outcome: &Outcome) {
        if outcome.not_inspected.contains(&NotInspected::BodyAbsent) && self.is_first(door) {
            tracing::warn!(
                policy,
                door = door.name(),
                "a request came without its body, which nobody inspects; let the proxy hand over bodies (Envoy: \
                 `with_request_body`, Traefik: `forwardBody`; nginx and Caddy cannot), or set `body.absent: deny`"
            );
        }
    }

    fn is_first(&self, door: Door) -> bool {
        let place = Door::ALL.iter().position(|other| *other == door).and_then(|place| self.warned.get(place));
        place.is_some_and(|warned| !warned.swap(true, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_door_is_warned_about_once() {
        let warnings = BodyWarnings::default();
        for door in Door::ALL {
            assert_eq!([warnings.is_first(door), warnings.is_first(door)], [true, false], "{door:?}");
        }
    }
}
