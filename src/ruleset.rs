//! The compiled rules: immutable, shared by all workers. Holds per-phase lists, links, tables over all rules and the
//! footprint.
//!
//! Knows no text and no spans beyond the `file:line` of reports, and no request.

pub mod footprint;
pub mod index;
pub(crate) mod prefilter;
pub mod rule;
pub mod settings;
pub mod template;

use std::sync::Arc;

pub use footprint::Footprint;
use index::{RuleIndex, TransformationTree, TxNames, TxSlot};
use rule::{Link, Rule};
use settings::Settings;

use crate::model::{Phase, RuleInfo};
use crate::vocab::transformations::TransformationContext;

/// A compiled rule set. Made by [`crate::compile::compile`].
#[derive(Debug)]
pub struct RuleSet {
    pub(crate) settings: Settings,
    pub(crate) rules: Vec<Rule>,
    /// The rules of each phase in load order; [`Rule::jump`] is a place in these lists.
    pub(crate) phases: [Vec<RuleIndex>; 5],
    pub(crate) transformations: TransformationTree,
    pub(crate) transformation_context: TransformationContext,
    pub(crate) tx_names: TxNames,
    pub(crate) score_slots: ScoreSlots,
    pub(crate) footprint: Footprint,
    pub(crate) prefilter: prefilter::Prefilter,
}

impl RuleSet {
    /// The engine settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Which parts of a request the rules can read.
    pub fn footprint(&self) -> &Footprint {
        &self.footprint
    }

    /// All rules in load order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What is fixed about each rule, in load order.
    pub fn infos(&self) -> impl Iterator<Item = &Arc<RuleInfo>> {
        self.rules.iter().map(|rule| &rule.info)
    }

    /// The number of rules in a phase, chains counted once.
    pub fn phase_len(&self, phase: Phase) -> usize {
        self.phases.get(phase.index()).map_or(0, Vec::len)
    }

    /// The names of a link's transformations, in order.
    pub fn transformation_names(&self, link: &Link) -> Vec<&'static str> {
        let places = self.transformations.path(link.transformations).iter();
        places.filter_map(|place| crate::vocab::transformations::TRANSFORMATIONS.get(*place)).map(|t| t.name).collect()
    }

    pub(crate) fn rule(&self, index: RuleIndex) -> Option<&Rule> {
        self.rules.get(index.get())
    }
}

/// Where CRS keeps its scores. A slot whose rules never ran stays unset and reads as zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScoreSlots {
    /// `tx.blocking_inbound_anomaly_score` (4.x).
    pub(crate) blocking: Option<TxSlot>,
    /// `tx.anomaly_score` (3.x).
    pub(crate) anomaly: Option<TxSlot>,
    /// `tx.inbound_anomaly_score_threshold`.
    pub(crate) threshold: Option<TxSlot>,
    /// `tx.inbound_anomaly_score_pl1` … `pl4` (4.x), `tx.anomaly_score_pl1` … `pl4` (3.x).
    pub(crate) per_pl: [[Option<TxSlot>; 2]; 4],
}

impl ScoreSlots {
    pub(crate) fn find(names: &TxNames) -> Self {
        let per_pl = [1, 2, 3, 4].map(|level| {
            [format!("inbound_anomaly_score_pl{level}"), format!("anomaly_score_pl{level}")]
                .map(|name| names.find(name.as_bytes()))
        });
        Self {
            blocking: names.find(b"blocking_inbound_anomaly_score"),
            anomaly: names.find(b"anomaly_score"),
            threshold: names.find(b"inbound_anomaly_score_threshold"),
            per_pl,
        }
    }
}
