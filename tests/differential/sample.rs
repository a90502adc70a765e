//! The requests that are compared: those of the regression tests, the benign corpus, and seeded mutations of the former.

use portcullis::input::RequestBuf;

use super::corpora::{addressed, benign_line};
use super::mutate::{Change, Coding};
use super::payloads::Payload;
use super::place::Place;
use super::random::Random;

/// A request, and how it was made.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// The rule whose test the text is from; 0 for the benign corpus.
    pub(crate) rule: u32,
    pub(crate) place: Place,
    pub(crate) change: Change,
    pub(crate) coding: Coding,
    pub(crate) request: RequestBuf,
}

impl Sample {
    pub(crate) fn as_is(rule: u32, request: RequestBuf) -> Self {
        let request = addressed(request);
        Self { rule, place: Place::AsIs, change: Change::None, coding: Coding::Plain, request }
    }

    /// How it was made, in a word each.
    pub(crate) fn describe(&self) -> String {
        format!("{}/{:?}/{:?}/{:?}", self.rule, self.place, self.change, self.coding)
    }
}

/// The benign corpus: JSON lines with the body in base64.
pub(crate) fn benign(lines: &str) -> Result<Vec<Sample>, String> {
    lines.lines().map(|line| Ok(Sample::as_is(0, benign_line(line)?.1))).collect()
}

/// `count` mutations of the payloads.
pub(crate) fn mutations(payloads: &[Payload], count: usize, seed: u64) -> Vec<Sample> {
    let mut random = Random::new(seed);
    (0..count).map(|_| mutation(payloads, &mut random)).collect()
}

fn mutation(payloads: &[Payload], random: &mut Random) -> Sample {
    let payload = &payloads[random.below(payloads.len())];
    let (place, change, coding) = (random.pick(&Place::ALL), Change::any(random), Coding::any(random));
    let changed = change.apply(&payload.text, payloads, random);
    let coded = coding.apply(&changed, random);
    let request = addressed(place.request(&coded, coding != Coding::Plain, random));
    Sample { rule: payload.rule, place, change, coding, request }
}
