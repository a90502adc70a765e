//! Counters that many threads add to without a lock.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::model::RuleId;

/// A row of counters.
#[derive(Debug)]
pub(super) struct Counts<const N: usize>([AtomicU64; N]);

impl<const N: usize> Default for Counts<N> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl<const N: usize> Counts<N> {
    /// Adds one to the counter at this place.
    pub(super) fn add(&self, index: usize) {
        self.add_many(index, 1);
    }

    pub(super) fn add_many(&self, index: usize, amount: u64) {
        if let Some(counter) = self.0.get(index) {
            counter.fetch_add(amount, Ordering::Relaxed);
        }
    }

    pub(super) fn get(&self, index: usize) -> u64 {
        self.0.get(index).map_or(0, |counter| counter.load(Ordering::Relaxed))
    }
}

/// Upper bounds of the buckets of a [`Histogram`], in microseconds.
pub(super) const BUCKETS_MICROS: [u64; 14] =
    [25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000];

/// How long things took.
#[derive(Default, Debug)]
pub(super) struct Histogram {
    /// Per bucket, not cumulative; the last is for everything longer.
    pub(super) buckets: Counts<{ BUCKETS_MICROS.len() + 1 }>,
    nanos: Counts<1>,
}

impl Histogram {
    pub(super) fn record(&self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.buckets.add(BUCKETS_MICROS.partition_point(|bound| bound * 1000 < nanos));
        self.nanos.add_many(0, nanos);
    }

    pub(super) fn sum(&self) -> Duration {
        Duration::from_nanos(self.nanos.get(0))
    }
}

/// As many rules as are counted one by one: CRS has about 700.
const RULES: usize = 4096;

/// Hits by rule: a hash table of fixed size that is only ever added to. Rules that find no room are counted together.
#[derive(Debug)]
pub(super) struct RuleHits {
    rules: Box<[(AtomicU32, AtomicU64)]>,
    others: AtomicU64,
}

impl Default for RuleHits {
    fn default() -> Self {
        let rules = (0..RULES).map(|_| (AtomicU32::new(0), AtomicU64::new(0))).collect();
        Self { rules, others: AtomicU64::new(0) }
    }
}

impl RuleHits {
    pub(super) fn add(&self, rule: RuleId) {
        let counter = self.slot(rule.get()).unwrap_or(&self.others);
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The rule's counter: its own slot, or the next free one after it; zero marks a free slot, as no rule has that id.
    fn slot(&self, id: u32) -> Option<&AtomicU64> {
        let start = (id.wrapping_mul(0x9e37_79b1) >> 20) as usize;
        for step in 0..64 {
            let (owner, counter) = self.rules.get((start + step) % RULES)?;
            match owner.compare_exchange(0, id, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(counter),
                Err(other) if other == id => return Some(counter),
                Err(_) => {}
            }
        }
        None
    }

    /// The rules that were hit, by id, and the hits of all others.
    pub(super) fn all(&self) -> (Vec<(u32, u64)>, u64) {
        let load = |(owner, counter): &(AtomicU32, AtomicU64)| {
            (owner.load(Ordering::Relaxed), counter.load(Ordering::Relaxed))
        };
        let mut rules: Vec<(u32, u64)> = self.rules.iter().map(load).filter(|(id, _)| *id > 0).collect();
        rules.sort_unstable();
        (rules, self.others.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_hits_are_exact_and_bounded() {
        let hits = RuleHits::default();
        for round in 1..=3 {
            for id in (1..=700).map(|i| 900_000 + i * 10) {
                (0..round).for_each(|_| hits.add(RuleId::new(id).unwrap()));
            }
        }
        let (rules, others) = hits.all();
        assert_eq!((rules.len(), others), (700, 0));
        assert!(rules.is_sorted() && rules.iter().all(|(_, count)| *count == 6));
        (1..=100_000).for_each(|id| hits.add(RuleId::new(id).unwrap()));
        let (rules, others) = hits.all();
        assert!(rules.len() <= RULES && others > 0);
        assert_eq!(rules.iter().map(|(_, count)| count).sum::<u64>() + others, 700 * 6 + 100_000);
    }

    #[test]
    fn histogram_bounds_are_upper_and_inclusive() {
        let histogram = Histogram::default();
        for micros in [25, 26, 1_000_000, 1_000_001] {
            histogram.record(Duration::from_micros(micros));
        }
        let counts: Vec<u64> = (0..=BUCKETS_MICROS.len()).map(|index| histogram.buckets.get(index)).collect();
        assert_eq!(counts, [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(histogram.sum(), Duration::from_micros(2_000_052));
    }
}
