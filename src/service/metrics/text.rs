//! The text form: one block for each metric, made when somebody asks.

use std::fmt::Write as _;
use std::sync::Arc;

use super::{Door, PolicyMetrics, VERDICTS, failure_index};
use crate::model::NotInspected;
use crate::service::cache::Bypass;
use crate::service::counts::{BUCKETS_MICROS, Counts, Histogram};
use crate::service::reload::locked;
use crate::service::snapshot::Snapshot;
use crate::service::{FailureKind, Service};

/// The counters of a policy under its name, ready to stand in a label.
type Policies = [(String, Arc<PolicyMetrics>)];

impl Service {
    /// All metrics in the text format of Prometheus.
    pub fn metrics_text(&self) -> String {
        let policies: Vec<_> = locked(&self.parts.metrics.policies)
            .iter()
            .map(|(name, counts)| (escaped(name), Arc::clone(counts)))
            .collect();
        let mut page = Page::default();
        requests(&mut page, &policies);
        evaluations(&mut page, &policies);
        cache(&mut page, &policies);
        not_inspected(&mut page, &policies);
        self.failures(&mut page);
        self.state(&mut page);
        rule_sets(&mut page, &self.snapshot.load());
        page.text
    }

    fn failures(&self, page: &mut Page) {
        page.head("portcullis_failures_total", "counter", "Our own failures by kind, and whether the request passed.");
        for kind in FailureKind::ALL {
            for (open, answer) in [(false, "closed"), (true, "open")] {
                let labels = format!("kind=\"{}\",answer=\"{answer}\"", kind.name());
                page.line(
                    "portcullis_failures_total",
                    &labels,
                    self.parts.metrics.failures.get(failure_index(kind, open)),
                );
            }
        }
    }

    fn state(&self, page: &mut Page) {
        let snapshot = self.snapshot.load();
        let history = self.history.record();
        let audit = self.parts.audit.counts();
        page.head("portcullis_reloads_total", "counter", "Reloads asked for since the start.");
        page.line("portcullis_reloads_total", "result=\"success\"", history.succeeded);
        page.line("portcullis_reloads_total", "result=\"failure\"", history.failed);
        page.head("portcullis_audit_lost_total", "counter", "Audit records that were not written.");
        page.line("portcullis_audit_lost_total", "reason=\"overflow\"", audit.overflowed);
        page.line("portcullis_audit_lost_total", "reason=\"write_error\"", audit.failed);
        let gauges = [
            ("portcullis_generation", "The generation of rules at work.", snapshot.generation),
            ("portcullis_stale", "1 when the last reload failed.", (!history.stale.is_empty()).into()),
            ("portcullis_ready", "1 when requests may be sent here.", self.ready().into()),
            ("portcullis_calls_in_flight", "Calls being answered.", self.gate.calls() as u64),
            ("portcullis_body_bytes_in_flight", "Body bytes held by calls being answered.", self.gate.bytes() as u64),
        ];
        for (name, help, value) in gauges {
            page.head(name, "gauge", help);
            page.line(name, "", value);
        }
        page.head("portcullis_audit_records_total", "counter", "Audit records written.");
        page.line("portcullis_audit_records_total", "", audit.written);
        page.head("portcullis_build_info", "gauge", "What is running.");
        page.line("portcullis_build_info", concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""), 1);
    }
}

/// A page under construction.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, labels: &str, value: u64) {
        let _ = match labels {
            "" => writeln!(self.text, "{name} {value}"),
            labels => writeln!(self.text, "{name}{{{labels}}} {value}"),
        };
    }

    fn seconds(&mut self, name: &str, labels: &str, value: f64) {
        let _ = writeln!(self.text, "{name}{{{labels}}} {value}");
    }

    /// One line for each policy and reason.
    fn reasons<const N: usize>(
        &mut self,
        name: &str,
        policies: &Policies,
        reasons: [&'static str; N],
        counts: impl Fn(&PolicyMetrics) -> &Counts<N>,
    ) {
        for (policy, metrics) in policies {
            for (index, reason) in reasons.iter().enumerate() {
                let labels = format!("policy=\"{policy}\",reason=\"{reason}\"");
                self.line(name, &labels, counts(metrics).get(index));
            }
        }
    }
}

fn requests(page: &mut Page, policies: &Policies) {
    page.head("portcullis_requests_total", "counter", "Requests decided, by policy, door and answer.");
    for (policy, metrics) in policies {
        for door in Door::ALL {
            for (index, verdict) in VERDICTS.iter().enumerate() {
                let labels = format!("policy=\"{policy}\",source=\"{}\",verdict=\"{verdict}\"", door.name());
                let value = metrics.requests.get(door as usize * VERDICTS.len() + index);
                page.line("portcullis_requests_total", &labels, value);
            }
        }
    }
    page.head("portcullis_would_deny_total", "counter", "Requests let pass that blocking mode had refused.");
    for (policy, metrics) in policies {
        page.line("portcullis_would_deny_total", &format!("policy=\"{policy}\""), metrics.would.get(0));
    }
    page.head("portcullis_rule_hits_total", "counter", "Requests in which a rule matched and was logged.");
    for (policy, metrics) in policies {
        let (rules, others) = metrics.rules.all();
        for (rule, hits) in rules {
            page.line("portcullis_rule_hits_total", &format!("policy=\"{policy}\",rule=\"{rule}\""), hits);
        }
        page.line("portcullis_rule_hits_total", &format!("policy=\"{policy}\",rule=\"other\""), others);
    }
}

fn evaluations(page: &mut Page, policies: &Policies) {
    let name = "portcullis_evaluation_seconds";
    page.head(name, "histogram", "Time the rules took, cached verdicts left out.");
    for (policy, metrics) in policies {
        histogram(page, name, &format!("policy=\"{policy}\""), &metrics.evaluation);
    }
}

fn histogram(page: &mut Page, name: &str, labels: &str, histogram: &Histogram) {
    let mut count = 0;
    for (index, bound) in BUCKETS_MICROS.iter().enumerate() {
        count += histogram.buckets.get(index);
        let bound = std::time::Duration::from_micros(*bound).as_secs_f64();
        page.line(&format!("{name}_bucket"), &format!("{labels},le=\"{bound}\""), count);
    }
    count += histogram.buckets.get(BUCKETS_MICROS.len());
    page.line(&format!("{name}_bucket"), &format!("{labels},le=\"+Inf\""), count);
    page.seconds(&format!("{name}_sum"), labels, histogram.sum().as_secs_f64());
    page.line(&format!("{name}_count"), labels, count);
}

fn cache(page: &mut Page, policies: &Policies) {
    page.head("portcullis_cache_hits_total", "counter", "Verdicts answered from the cache.");
    for (policy, metrics) in policies {
        page.line("portcullis_cache_hits_total", &format!("policy=\"{policy}\""), metrics.cache.hits.get(0));
    }
    page.head("portcullis_cache_misses_total", "counter", "Requests looked up in vain.");
    for (policy, metrics) in policies {
        page.line("portcullis_cache_misses_total", &format!("policy=\"{policy}\""), metrics.cache.misses.get(0));
    }
    page.head("portcullis_cache_bypasses_total", "counter", "Requests or verdicts kept out of the cache, by reason.");
    let reasons = Bypass::ALL.map(Bypass::name);
    page.reasons("portcullis_cache_bypasses_total", policies, reasons, |metrics| &metrics.cache.bypasses);
}

fn not_inspected(page: &mut Page, policies: &Policies) {
    let reasons = NotInspected::ALL.map(NotInspected::name);
    page.head("portcullis_not_inspected_requests_total", "counter", "Requests of which a part was not inspected.");
    page.reasons("portcullis_not_inspected_requests_total", policies, reasons, |metrics| &metrics.not_inspected);
    page.head("portcullis_not_inspected_bytes_total", "counter", "Bytes not inspected, as far as they are known.");
    page.reasons("portcullis_not_inspected_bytes_total", policies, reasons, |metrics| &metrics.not_inspected_bytes);
}

fn rule_sets(page: &mut Page, snapshot: &Snapshot) {
    type Read = fn(&crate::service::snapshot::Active) -> u64;
    let gauges: [(&str, &str, Read); 5] = [
        ("portcullis_rules_loaded", "Rules at work.", |active| active.set.rule_count as u64),
        ("portcullis_fallback_baseline", "1 when no CRS was at hand and the baseline rules stand in.", |active| {
            active.set.fallback.into()
        }),
        ("portcullis_scoring_disabled", "1 when the rule that refuses by anomaly score was taken away.", |active| {
            active.set.scores_unheeded.into()
        }),
        ("portcullis_cache_entries", "Verdicts remembered.", |active| active.cache_size().0),
        ("portcullis_cache_bytes", "Memory the remembered verdicts take.", |active| active.cache_size().1),
    ];
    for (name, help, read) in gauges {
        page.head(name, "gauge", help);
        for active in snapshot.policies.values() {
            page.line(name, &format!("policy=\"{}\"", escaped(&active.name)), read(active));
        }
    }
}

/// A text as it may stand in a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
