//! The log lines upstream would write, as far as our outcome bears them out.
//!
//! Nothing here guesses: a line about a value is written when a probe in the rule's place saw the value, a line about
//! a result when the rule, made to log, was reported or not.

use std::fmt::Write as _;

use portcullis::model::{AuditEngine, Outcome, RuleMatch, Verdict};
use portcullis::seclang::ast::{Action, Directive, DirectiveKind, Key, OperatorExpr, Program};
use portcullis::seclang::source::Spanned;

use super::case::Sent;
use super::run::Files;

/// An operator argument that no value equals.
const NEVER: &[u8] = b"\x01\x02no value";

/// Ids of rules that are not of the case.
const PROBE: u32 = 4_294_967_000;

const FLAG_PROBE: u32 = PROBE + 1;
const ERROR_PROBE: u32 = PROBE + 2;

/// Flags of multipart bodies, and upstream's warnings.
const FLAGS: [(&str, &str); 5] = [
    ("MULTIPART_BOUNDARY_QUOTED", "boundary was quoted."),
    ("MULTIPART_BOUNDARY_WHITESPACE", "boundary whitespace in C-T header."),
    ("MULTIPART_DATA_BEFORE", "seen data before first boundary."),
    ("MULTIPART_LF_LINE", "incorrect line endings used (LF)."),
    ("MULTIPART_INVALID_QUOTING", "invalid quoting used."),
];

/// The rules of a case with its request: what probes are made of.
pub(super) struct Probed<'a> {
    pub(super) files: &'a Files,
    pub(super) program: &'a Program,
    pub(super) sent: &'a Sent,
}

impl Probed<'_> {
    /// Everything that can be said about each rule, in order, and the end of it all.
    pub(super) fn debug_log(&self, outcome: &Outcome) -> String {
        let text = self.lines(outcome);
        text.lines().map(|line| format!("[9] {line}\n")).collect()
    }

    fn lines(&self, outcome: &Outcome) -> String {
        let mut log = String::new();
        let directives = &self.program.directives;
        let mut start = 0;
        while let Some(directive) = directives.get(start) {
            let links = chain_len(&directives[start..]);
            if is_rule(directive) {
                self.rule(&mut log, start, links);
            }
            start += links.max(1);
        }
        self.body(&mut log);
        match &outcome.verdict {
            Verdict::Allow => {}
            Verdict::Deny { .. } => log.push_str("Running action deny\nRunning (disruptive)     action: deny\n"),
            Verdict::Redirect { .. } => log.push_str("Running (disruptive)     action: redirect\n"),
        }
        log
    }

    fn rule(&self, log: &mut String, start: usize, links: usize) {
        let id = number(&self.program.directives[start]).unwrap_or_default();
        if !self.is_reached(start, links) {
            skipped(log, id);
            return;
        }
        for link in 0..links {
            let DirectiveKind::Rule { operator, .. } = &self.program.directives[start + link].kind else { return };
            let _ = writeln!(
                log,
                "(Rule: {id}) Executing operator \"{}\" with param \"{}\" against {}.",
                capitalised(&operator.name.node),
                String::from_utf8_lossy(&operator.argument.node),
                self.targets(start + link),
            );
            self.values(log, start, link);
            let matched = self.try_at(start, links, |directives| truncate(directives, link, Keep::Operator));
            let Some(matched) = matched else {
                log.push_str("Rule returned 0.\n");
                return;
            };
            self.captures(log, start, link);
            log.push_str("Rule returned 1.\nRunning action: log\n");
            if link == 0 {
                let _ = writeln!(log, "Saving msg: {}", String::from_utf8_lossy(&matched.msg));
            }
            for tag in matched.tags() {
                let _ = writeln!(log, "Rule tag: {tag}");
            }
        }
    }

    /// The targets as written.
    fn targets(&self, place: usize) -> String {
        let DirectiveKind::Rule { targets, .. } = &self.program.directives[place].kind else { return String::new() };
        let names: Vec<_> = targets
            .iter()
            .map(|target| {
                let line = self.program.sources.line(target.span.file, target.span.line).unwrap_or_default();
                let from = target.span.column as usize - 1;
                String::from_utf8_lossy(line.get(from..from + target.span.len as usize).unwrap_or_default())
                    .into_owned()
            })
            .collect();
        names.join("|")
    }

    /// The values a link looks at: after each of its transformations, then as the operator gets them.
    fn values(&self, log: &mut String, start: usize, link: usize) {
        let links = chain_len(&self.program.directives[start..]);
        let DirectiveKind::Rule { actions, .. } = &self.program.directives[start + link].kind else { return };
        let steps: Vec<_> = actions.iter().filter(|action| is(action, "t")).collect();
        for (taken, step) in steps.iter().enumerate().filter(|(_, step)| value(step) != "none") {
            let seen = self.try_at(start, links, |directives| truncate(directives, link, Keep::Targets(taken + 1)));
            for matched in seen.iter().flat_map(|seen| &seen.matches) {
                let _ = writeln!(log, " T (0) t:{}: \"{}\"", value(step), shown(&matched.value));
            }
        }
        let seen = self.try_at(start, links, |directives| truncate(directives, link, Keep::Targets(usize::MAX)));
        for matched in seen.iter().flat_map(|seen| &seen.matches) {
            let name = String::from_utf8_lossy(&matched.variable);
            let _ = writeln!(
                log,
                "Target value: \"{}\" (Variable: {})",
                shown(&matched.value),
                name.trim_start_matches('&')
            );
        }
    }

    /// What a link that matched left in `TX:0` to `TX:9`.
    fn captures(&self, log: &mut String, start: usize, link: usize) {
        let DirectiveKind::Rule { actions, operator, .. } = &self.program.directives[start + link].kind else { return };
        if link > 0 || !actions.iter().any(|action| is(action, "capture")) {
            return;
        }
        let links = chain_len(&self.program.directives[start..]);
        let outcome = self.outcome_with(start, links, |directives| {
            truncate(directives, link, Keep::Operator);
            let mut probe = directives[0].clone();
            let DirectiveKind::Rule { targets, operator, actions } = &mut probe.kind else { return };
            targets.truncate(1);
            targets[0].name.node = "TX".to_owned();
            (targets[0].count, targets[0].negated) = (false, false);
            let span = targets[0].span;
            targets[0].key = Some(Spanned { node: Key::Regex(b"^\\d$".to_vec()), span });
            never(operator);
            actions.retain(|action| is(action, "id") || is(action, "phase") || is(action, "log"));
            for action in actions.iter_mut().filter(|action| is(action, "id")) {
                if let Some(value) = &mut action.value {
                    value.node = PROBE.to_string().into_bytes();
                }
            }
            directives.insert(1, probe);
        });
        let seen = outcome.rules.iter().filter(|rule| rule.info.id.get() == PROBE);
        for matched in seen.flat_map(|seen| &seen.matches) {
            let name = String::from_utf8_lossy(&matched.variable).replace(':', ".");
            let value = String::from_utf8_lossy(&matched.value).into_owned();
            let operator = capitalised(&operator.name.node);
            let what = if operator.starts_with("Rx") { "regex subexpression".to_owned() } else { operator + " match" };
            let _ = writeln!(log, "Added {what} {name}: {value}");
        }
    }

    /// What became of the body: its arguments, what was odd about it, why it was refused.
    fn body(&self, log: &mut String) {
        let never = String::from_utf8_lossy(NEVER);
        let flags: Vec<_> = FLAGS.iter().map(|(flag, _)| *flag).collect();
        let probes = format!(
            "SecRule ARGS_POST \"!@streq {never}\" \"id:{PROBE},phase:2,log,pass\"\n\
             SecRule {} \"@eq 1\" \"id:{FLAG_PROBE},phase:2,log,pass\"\n\
             SecRule REQBODY_ERROR_MSG \"!@streq {never}\" \"id:{ERROR_PROBE},phase:2,log,pass\"\n",
            flags.join("|")
        );
        let outcome = self.files.run_instead(self.program, &probes, self.sent);
        let of =
            |id: u32| outcome.rules.iter().filter(move |rule| rule.info.id.get() == id).flat_map(|rule| &rule.matches);
        for matched in of(PROBE) {
            let name = String::from_utf8_lossy(&matched.variable).into_owned();
            let name = name.strip_prefix("ARGS_POST:").unwrap_or_default().to_owned();
            let value = String::from_utf8_lossy(&matched.value);
            let _ = writeln!(log, "Adding request argument (BODY): name \"{name}\", value \"{value}\"");
            let _ = writeln!(log, "Added part: name: {name}, variable: {value}");
        }
        let error: String = of(ERROR_PROBE).map(|matched| String::from_utf8_lossy(&matched.value) + "\n").collect();
        let error = match error.strip_prefix("Request body (without files)") {
            Some(_) => "Request body excluding files is bigger than the maximum expected.\n".to_owned(),
            None => error,
        };
        // Upstream warns before and after an error; the order is not judged.
        log.push_str(&error);
        for matched in of(FLAG_PROBE) {
            let warning =
                FLAGS.iter().find(|(flag, _)| flag.as_bytes() == matched.variable).map_or("", |(_, text)| text);
            let _ = writeln!(log, "Multipart: Warning: {warning}");
        }
        log.push_str(&error);
    }

    /// Whether the flow comes to the rule: with an action in its place.
    fn is_reached(&self, start: usize, links: usize) -> bool {
        let reached = self.try_at(start, links, |directives| {
            directives.truncate(1);
            let mut actions = Vec::new();
            if let DirectiveKind::Rule { actions: written, .. } = &directives[0].kind {
                actions = written.iter().filter(|action| says_what_it_is(action)).cloned().collect();
            }
            log_it(&mut actions);
            directives[0].kind = DirectiveKind::Action(actions);
        });
        reached.is_some()
    }

    /// The report of the rule at `start` after `change` to it and its links.
    fn try_at(&self, start: usize, links: usize, change: impl FnOnce(&mut Vec<Directive>)) -> Option<RuleMatch> {
        let id = number(&self.program.directives[start])?;
        let outcome = self.outcome_with(start, links, change);
        outcome.rules.into_iter().find(|rule| rule.info.id.get() == id)
    }

    fn outcome_with(&self, start: usize, links: usize, change: impl FnOnce(&mut Vec<Directive>)) -> Outcome {
        let mut chain = self.program.directives[start..start + links].to_vec();
        change(&mut chain);
        let mut program = self.program.clone();
        program.directives.splice(start..start + links, chain);
        self.files.run(&program, Some(self.sent)).unwrap().unwrap()
    }
}

/// What of a link's rule a probe keeps.
enum Keep {
    /// The operator: does the link match?
    Operator,
    /// Only the targets and that many transformations: what does it see?
    Targets(usize),
}

/// Cuts a chain after a link and makes the rest harmless and visible.
fn truncate(directives: &mut Vec<Directive>, link: usize, keep: Keep) {
    directives.truncate(link + 1);
    for directive in directives.iter_mut() {
        if let DirectiveKind::Rule { actions, .. } = &mut directive.kind {
            actions.retain(|action| !is_flow(action));
        }
    }
    let Some(DirectiveKind::Rule { actions, operator, .. }) = directives.last_mut().map(|last| &mut last.kind) else {
        return;
    };
    actions.retain(|action| !is(action, "chain"));
    if let Keep::Targets(mut steps) = keep {
        never(operator);
        actions.retain(|action| {
            let taken = !is(action, "t") || steps > 0;
            steps -= usize::from(is(action, "t") && steps > 0);
            taken && (says_what_it_is(action) || is(action, "t") || is(action, "multiMatch"))
        });
    }
    if let Some(DirectiveKind::Rule { actions, .. }) = directives.first_mut().map(|first| &mut first.kind) {
        log_it(actions);
    }
}

fn never(operator: &mut OperatorExpr) {
    operator.negated = true;
    operator.implied = false;
    operator.name.node = "streq".to_owned();
    operator.argument.node = NEVER.to_vec();
}

fn log_it(actions: &mut Vec<Action>) {
    let Some(first) = actions.first().cloned() else { return };
    for name in ["log", "pass"] {
        let mut action = first.clone();
        action.name.node = name.to_owned();
        action.value = None;
        actions.push(action);
    }
}

fn is(action: &Action, name: &str) -> bool {
    action.name.node.eq_ignore_ascii_case(name)
}

fn is_flow(action: &Action) -> bool {
    ["deny", "block", "drop", "allow", "redirect", "pass", "nolog", "noauditlog", "skip", "skipAfter", "proxy"]
        .iter()
        .any(|name| is(action, name))
}

fn says_what_it_is(action: &Action) -> bool {
    ["id", "phase", "tag", "msg", "logdata", "severity", "rev", "ver"].iter().any(|name| is(action, name))
}

fn is_rule(directive: &Directive) -> bool {
    matches!(directive.kind, DirectiveKind::Rule { .. })
}

/// How many directives belong to the rule that comes first.
fn chain_len(directives: &[Directive]) -> usize {
    let chained = |directive: &&Directive| match &directive.kind {
        DirectiveKind::Rule { actions, .. } | DirectiveKind::Action(actions) => {
            actions.iter().any(|action| is(action, "chain"))
        }
        _ => false,
    };
    let links = directives.iter().take_while(chained).count() + 1;
    links.min(directives.len())
}

/// The id as the compiler reads it: of several the last.
fn number(directive: &Directive) -> Option<u32> {
    let DirectiveKind::Rule { actions, .. } = &directive.kind else { return None };
    actions.iter().rev().find(|action| is(action, "id")).and_then(|action| value(action).parse().ok())
}

fn value(action: &Action) -> String {
    action.value.as_ref().map(|value| String::from_utf8_lossy(&value.node).into_owned()).unwrap_or_default()
}

/// The ways to say that a rule did not run.
fn skipped(log: &mut String, id: u32) {
    for line in [
        "Skipped rule id 'ID'. Removed by an SecRuleRemove directive.",
        "Skipped rule id 'ID'. Removed by a SecRuleRemoveByMsg directive.",
        "Skipped rule id 'ID'. Removed by a SecRuleRemoveByTag directive.",
        "Skipped rule id 'ID'. Skipped due to a ruleRemoveByTag action.",
        "Rule id: ID was skipped due to a ruleRemoveById action...",
        "Skipped rule id 'ID' due to a `skip' action.",
        "Skipped rule id 'ID' as request trough the utilization of an `allow' action.",
    ] {
        log.push_str(&line.replace("ID", &id.to_string()));
        log.push('\n');
    }
}

/// An operator's name as upstream prints it.
fn capitalised(name: &str) -> String {
    let odd = ["StrEq", "VerifyCC", "VerifyCPF", "VerifySSN", "VerifySVNR", "DetectSQLi", "DetectXSS"];
    if let Some(odd) = odd.into_iter().find(|odd| odd.eq_ignore_ascii_case(name)) {
        return odd.to_owned();
    }
    let (first, rest) = name.split_at(1);
    first.to_ascii_uppercase() + rest
}

/// A value as upstream shows it: at most 80 characters, others than printable ASCII as `\xhh`.
fn shown(value: &[u8]) -> String {
    let mut text = String::new();
    for byte in value.iter().take(80) {
        if (32..127).contains(byte) {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// A line for each rule that is to stand in the log, and each value it matched on.
pub(super) fn error_log(program: &Program, outcome: &Outcome) -> String {
    lines(program, outcome.rules.iter().filter(|rule| rule.log), &outcome.verdict)
}

/// The same of the rules that make a transaction relevant.
pub(super) fn audit_log(program: &Program, outcome: &Outcome) -> String {
    let relevant = outcome.rules.iter().any(|rule| rule.audit);
    match outcome.audit_engine {
        AuditEngine::Off => String::new(),
        AuditEngine::RelevantOnly if !relevant => String::new(),
        _ => "--A--\n".to_owned() + &lines(program, outcome.rules.iter().filter(|rule| rule.audit), &outcome.verdict),
    }
}

fn lines<'a>(program: &Program, rules: impl Iterator<Item = &'a RuleMatch>, verdict: &Verdict) -> String {
    let mut log = String::new();
    for rule in rules {
        let start = program.directives.iter().position(|directive| number(directive) == Some(rule.info.id.get()));
        let links = start.map_or(0, |start| chain_len(&program.directives[start..]));
        let last = start.and_then(|start| program.directives.get(start + links - 1)).map(|last| &last.kind);
        let Some(DirectiveKind::Rule { operator, .. }) = last else { continue };
        for matched in &rule.matches {
            let lead = match verdict {
                Verdict::Deny { status, .. } | Verdict::Redirect { status, .. } if rule.disruptive => {
                    format!("Access denied with code {status}")
                }
                _ => "Warning".to_owned(),
            };
            let variable = String::from_utf8_lossy(&matched.variable);
            let _ = write!(
                log,
                "ModSecurity: {lead}. Matched \"Operator `{}' with parameter `{}' against variable `{variable}' (Value: `{}' ) ",
                capitalised(&operator.name.node),
                String::from_utf8_lossy(&operator.argument.node),
                shown(&matched.value),
            );
            let info = &rule.info;
            let severity = info.severity.map_or(0, |severity| severity.number());
            let number = |text: &str| if text.is_empty() { "0".to_owned() } else { text.to_owned() };
            let _ = write!(
                log,
                "[file \"{}\"] [line \"{}\"] [id \"{}\"] [rev \"{}\"] [msg \"{}\"] [data \"{}\"] [severity \"{severity}\"] \
                 [ver \"{}\"] [maturity \"{}\"] [accuracy \"{}\"]",
                info.file,
                info.line,
                info.id,
                info.rev,
                String::from_utf8_lossy(&rule.msg),
                String::from_utf8_lossy(&matched.data),
                info.ver,
                number(&info.maturity),
                number(&info.accuracy),
            );
            for tag in rule.tags() {
                let _ = write!(log, " [tag \"{tag}\"]");
            }
            log.push('\n');
        }
    }
    log
}
