//! Diagnostics: message, help and the text they underline.

use super::*;
use crate::seclang::parser::parse_text;
use crate::seclang::source::MemoryLoader;

/// The diagnostics of a text: level, message with help, and the text underlined.
fn diagnose(text: &str) -> Vec<(Level, String, String)> {
    let mut loader = MemoryLoader::new();
    loader.insert("phrases.data", b"one\ntwo\n".as_slice());
    let parsed = parse_text(&loader, "t.conf", text.as_bytes());
    let compiled = compile(&parsed.program, &loader);
    let failed = compiled.diagnostics.iter().any(|diagnostic| diagnostic.level == Level::Error);
    assert_eq!(compiled.rules.is_none(), failed, "rules are there exactly when there is no error");
    let all = parsed.diagnostics.iter().chain(&compiled.diagnostics);
    all.map(|diagnostic| {
        let Span { file, line, column, len } = diagnostic.span;
        let line = parsed.program.sources.line(file, line).unwrap();
        let start = column as usize - 1;
        let underlined = &line[start..line.len().min(start + len as usize)];
        let help = diagnostic.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        (diagnostic.level, format!("{}{help}", diagnostic.message), String::from_utf8_lossy(underlined).into_owned())
    })
    .collect()
}

#[track_caller]
fn check(text: &str, expected: &[(Level, &str, &str)]) {
    let found = diagnose(text);
    let found: Vec<_> =
        found.iter().map(|(level, message, under)| (*level, message.as_str(), under.as_str())).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn misspelt_words_are_named_with_what_was_meant() {
    use Level::Error;
    check(
        "SecRule ARGZ \"@beginWith x\" \"id:1,phase:1,t:lowercas,pas,ctl:ruleEngin=On\"",
        &[
            (Error, "unknown transformation `lowercas`; did you mean `t:lowercase`?", "lowercas"),
            (Error, "unknown action `pas`; did you mean `pass`?", "pas"),
            (Error, "unknown control `ruleEngin`; did you mean `ctl:ruleEngine`?", "ruleEngin=On"),
            (Error, "unknown variable `ARGZ`; did you mean `ARGS`?", "ARGZ"),
            (Error, "unknown operator `@beginWith`; did you mean `@beginsWith`?", "beginWith"),
        ],
    );
}

#[test]
fn ids_are_there_numbers_and_unique() {
    use Level::Error;
    check(
        "SecAction \"phase:1\"",
        &[(Error, "the rule has no id; add `id:NUMBER` with a number that no other rule has", "SecAction")],
    );
    check(
        "SecAction \"id:0,phase:1\"",
        &[(Error, "`0` is no value of `id`; write a whole number from 1 to 4294967295", "0")],
    );
    check(
        "SecAction \"id:7,phase:1\"\nSecAction \"id:7,phase:1\"",
        &[(Error, "rule id 7 is taken by the rule at t.conf:1; give one of the two another id", "7")],
    );
}

#[test]
fn chains_are_complete_and_carry_no_metadata_in_links() {
    use Level::Error;
    check(
        "SecRule ARGS \"@rx x\" \"id:1,phase:1,chain\"",
        &[(
            Error,
            "`chain` is not followed by a rule; add the next rule of the chain right after it, or remove `chain`",
            "SecRule",
        )],
    );
    check(
        "SecRule ARGS \"@rx x\" \"id:1,phase:1,chain\"\nSecRule ARGS \"@rx y\" \"msg:'m',deny\"",
        &[
            (
                Error,
                "`msg` is not allowed in a later rule of a chain; move it to the first rule of the chain",
                "msg:'m'",
            ),
            (Error, "`deny` is not allowed in a later rule of a chain; move it to the first rule of the chain", "deny"),
        ],
    );
}

#[test]
fn jumps_lead_forward_to_something() {
    let help = "there is no marker `END` after this rule; \
                add a `SecMarker` with this name behind it, or correct the name";
    check("SecAction \"id:1,phase:1,pass,skipAfter:END\"", &[(Level::Error, help, "END")]);
    check("SecMarker END\nSecAction \"id:1,phase:1,pass,skipAfter:END\"", &[(Level::Error, help, "END")]);
    check("SecAction \"id:1,phase:1,pass,skipAfter:END\"\nSecMarker END", &[]);
    check("SecAction \"id:1,phase:1,pass,skipAfter:2\"\nSecAction \"id:2,phase:1,pass\"", &[]);
}

#[test]
fn targets_select_what_there_is() {
    use Level::Error;
    check(
        "SecRule REQUEST_URI:x \"@rx x\" \"id:1,phase:1\"",
        &[(Error, "`REQUEST_URI` has one value and no members to select; remove the part after the colon", "x")],
    );
    check(
        "SecRule &REQUEST_URI \"@eq 1\" \"id:1,phase:1\"",
        &[(Error, "`&REQUEST_URI` counts nothing: the variable always has one value; remove the `&`", "&REQUEST_URI")],
    );
    check(
        "SecRule XML:/root/a \"@rx x\" \"id:1,phase:2\"",
        &[(Error, "this XPath expression is not supported; write `XML:/*` or `XML://@*`", "/root/a")],
    );
}

#[test]
fn macros_name_variables() {
    check(
        "SecAction \"id:1,phase:1,msg:'%{ARG.x}'\"",
        &[(Level::Error, "the macro `%{ARG.x}` names no variable; did you mean `ARGS`?", "%{ARG.x}")],
    );
    // In a pattern `%{` may be meant literally.
    check("SecRule ARGS \"@rx %\\{[a-z]+\\}\" \"id:1,phase:1\"", &[]);
}

#[test]
fn what_has_no_effect_is_said() {
    use Level::{Notice, Warning};
    check(
        "SecRule IP:count \"@gt 1\" \"id:1,phase:1,pass,setvar:ip.count=+1\"",
        &[
            (
                Warning,
                "rule 1 sets `ip`, a persistent collection that is always empty here; the `setvar` has no effect",
                "ip.count=+1",
            ),
            (Warning, "rule 1 reads `IP`, a persistent collection that is always empty here", "SecRule"),
        ],
    );
    check("SecUploadDir /tmp", &[(Notice, "`SecUploadDir` is accepted and has no effect here", "SecUploadDir")]);
    check(
        "SecAction \"id:1,phase:3,pass\"",
        &[(Warning, "1 rule of phases 3 and 4 have no effect, since responses are not inspected: 1", "SecAction")],
    );
}

#[test]
fn removals_and_updates_that_meet_nothing_are_said() {
    use Level::Warning;
    let order = "it acts on rules loaded before it; move it behind them, or correct the";
    let whole = "text: tags are compared whole, not searched for a pattern as in ModSecurity 2";
    check(
        "SecRuleRemoveById 5\nSecRuleUpdateTargetByTag t \"!ARGS:a\"",
        &[
            (Warning, &format!("the removal of rule 5 matches no rule; {order} id"), "5"),
            (Warning, &format!("the update of rules tagged `t` matches no rule; {order} {whole}"), "t"),
        ],
    );
    check(
        "SecRule REQUEST_URI \"@rx x\" \"id:1,phase:1\"\nSecRuleUpdateTargetById 1 \"!ARGS:a\"",
        &[(
            Warning,
            "`ARGS` has no effect here: no target of rule 1 is concerned; rule 1 reads `REQUEST_URI`",
            "!ARGS:a",
        )],
    );
    check(
        "SecAction \"id:1,phase:1,pass,ctl:ruleRemoveById=9\"",
        &[(Warning, "the run-time removal of rule 9 matches no rule; correct the id", "9")],
    );
}

#[test]
fn taking_away_what_blocks_is_said_in_every_form() {
    let rules = "SecRule ARGS \"@rx x\" \"id:1,phase:2,block,tag:all,setvar:tx.anomaly_score=+5\"\n\
                 SecRule TX:blocking_inbound_anomaly_score \"@ge 5\" \"id:2,phase:2,deny,tag:all,tag:judge\"\n";
    let warning = "rule 2 turns anomaly scores into denials; without it nothing is blocked; \
                   use detection mode, or remove the rules that score falsely";
    let forms = [
        ("SecRuleRemoveById 2", Some("2")),
        ("SecRuleRemoveById 1-2", Some("1-2")),
        ("SecRuleRemoveByTag judge", Some("judge")),
        ("SecRuleUpdateActionById 2 \"pass\"", Some("2")),
        // The default is `pass` here.
        ("SecRuleUpdateActionById 2 \"block\"", Some("2")),
        ("SecRuleUpdateActionById 2 \"deny,status:400\"", None),
        ("SecRuleUpdateActionById 1 \"pass\"", None),
        ("SecAction \"id:3,phase:1,pass,ctl:ruleRemoveById=2\"", Some("2")),
        ("SecAction \"id:3,phase:1,pass,ctl:ruleRemoveByTag=judge\"", Some("ruleRemoveByTag=judge")),
        // The whole request is let through.
        ("SecAction \"id:3,phase:1,pass,ctl:ruleRemoveByTag=all\"", None),
        ("SecAction \"id:3,phase:1,pass,ctl:ruleRemoveById=1\"", None),
    ];
    for (form, underlined) in forms {
        let expected = underlined.map(|text| (Level::Warning, warning, text));
        check(&format!("{rules}{form}"), expected.as_slice());
    }
}

#[test]
fn directives_that_cannot_be_honoured_are_refused() {
    check(
        "SecGeoLookupDb /x.mmdb",
        &[(
            Level::Error,
            "`SecGeoLookupDb` is not supported, and leaving it out would weaken the rules in silence; \
             remove the directive and the rules that depend on it",
            "SecGeoLookupDb",
        )],
    );
    check(
        "SecRuleEngine Maybe",
        &[(Level::Error, "`Maybe` is no value here; write `On` or `Off` or `DetectionOnly`", "Maybe")],
    );
}

#[test]
fn every_mistake_is_reported_at_once() {
    let text = "SecAction \"phase:1\"\nSecRule ARGZ \"@rx (\" \"id:1,phase:9\"\nSecRuleEngine X\n";
    let errors = diagnose(text).into_iter().filter(|(level, ..)| *level == Level::Error).count();
    assert_eq!(errors, 5);
}

#[test]
fn a_macro_with_a_pattern_is_told() {
    use Level::Warning;
    let help = "a macro takes a name, not a pattern; \
                write the whole name, or let a rule with `capture` match it and write `%{TX.0}`";
    let message = format!("`%{{ARGS:/^x/}}` is always empty: {help}");
    check("SecAction \"id:1,msg:'%{ARGS:/^x/}'\"", &[(Warning, &message, "%{ARGS:/^x/}")]);
    check("SecAction \"id:1,setvar:tx.a=%{args./^X/}\"", &[(Warning, &message, "tx.a=%{args./^X/}")]);
    check("SecAction \"id:1,setvar:tx.%{ARGS./^x/}=1\"", &[(Warning, &message, "tx.%{ARGS./^x/}=1")]);
    for operator in ["@rx", "@streq", "@eq", "@within"] {
        check(&format!("SecRule ARGS \"{operator} %{{ARGS./^x/}}\" \"id:1\""), &[(Warning, &message, "%{ARGS./^x/}")]);
    }
    check("SecAction \"id:1,msg:'%{ARGS:/x} %{ARGS:x/} %{ARGS:/} %{XML:/*} %{REQUEST_URI}'\"", &[]);
}

#[test]
fn what_a_link_says_about_the_chain_is_told() {
    use Level::Warning;
    let told = |name: &str| {
        format!(
            "`{name}` has no effect in a later rule of a chain: that of rule 1 counts; \
             move it to the first rule of the chain"
        )
    };
    let chain = |starter: &str, link: &str| {
        format!("SecRule ARGS \"@rx x\" \"id:1,phase:1,deny,{starter},chain\"\nSecRule ARGS \"@rx y\" \"{link}\"")
    };
    check(
        &chain("status:401", "t:none,status:402,tag:a"),
        &[(Warning, &told("status"), "status:402"), (Warning, &told("tag"), "tag:a")],
    );
    check(
        &chain("log", "nolog,noauditlog"),
        &[(Warning, &told("nolog"), "nolog"), (Warning, &told("noauditlog"), "noauditlog")],
    );
    check(&chain("nolog", "log,auditlog"), &[(Warning, &told("log"), "log"), (Warning, &told("auditlog"), "auditlog")]);
    check(&chain("nolog", "nolog,noauditlog,capture,multiMatch,setvar:tx.a=1"), &[]);
    check(
        &format!("{}\nSecRuleUpdateActionById 1:1 \"status:400\"", chain("status:401", "t:none")),
        &[(Warning, &told("status"), "status:400")],
    );
    check(&format!("{}\nSecRuleUpdateActionById 1 \"status:400\"", chain("status:401", "t:none")), &[]);
}

#[test]
fn what_has_no_effect_names_its_rule() {
    use Level::Warning;
    let told = |name: &str| format!("`{name}` has no effect in rule 7: there is no persistent storage");
    check(
        "SecAction \"phase:1,initcol:ip=%{REMOTE_ADDR},id:'7',expirevar:ip.a=5\"",
        &[(Warning, &told("initcol"), "initcol:ip=%{REMOTE_ADDR}"), (Warning, &told("expirevar"), "expirevar:ip.a=5")],
    );
    check(
        "SecRule ARGS \"@rx x\" \"id:7,chain\"\nSecRule ARGS \"@rx y\" \"setsid:a\"",
        &[(Warning, &told("setsid"), "setsid:a")],
    );
    check(
        "SecDefaultAction \"phase:1,pass,setuid:a\"",
        &[(Warning, "`setuid` has no effect: there is no persistent storage", "setuid:a")],
    );
}

#[test]
fn the_relevant_status_is_a_pattern() {
    check("SecAuditLogRelevantStatus \"^(?:5|4(?!04))\"", &[]);
    let found = diagnose("SecAuditLogRelevantStatus \"^(?:5|4\"");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].0, found[0].2.as_str()), (Level::Error, "^(?:5|4"));
}

#[test]
fn a_dataset_is_refused_once_and_where_it_is_used() {
    use Level::Error;
    let refused = "`SecDataset` is not supported, and leaving it out would weaken the rules in silence; \
                   remove the directive and the rules that depend on it";
    let help = "`SecDataset` is not supported; write its list to a file and";
    let rule = "SecRule ARGS \"@pmFromDataset bad\" \"id:1\"\nSecRule REMOTE_ADDR \"@ipMatchFromDataset bad\" \"id:2\"";
    let used = [
        (Error, format!("unknown operator `@pmFromDataset`; {help} `@pmFromFile FILE`"), "pmFromDataset"),
        (
            Error,
            format!("unknown operator `@ipMatchFromDataset`; {help} `@ipMatchFromFile FILE`"),
            "ipMatchFromDataset",
        ),
    ];
    let used: Vec<_> = used.iter().map(|(level, text, under)| (*level, text.as_str(), *under)).collect();
    let expected = [&[(Error, refused, "SecDataset")], used.as_slice()].concat();
    check(&format!("SecDataset bad `\none two\n# three\n\"four\nSecRule\n`\n{rule}"), &expected);
    check(&format!("SecDataset bad `one`\n{rule}"), &expected);
    check("SecDataset bad `\nSecMarker a\nSecRul", &[(Error, refused, "SecDataset")]);
}

/// Which rules hand over from link to link, and in what patterns others may find the names.
#[track_caller]
fn relays(text: &str, expected: &[(u32, usize)]) {
    let loader = MemoryLoader::new();
    let parsed = parse_text(&loader, "t.conf", text.as_bytes());
    let rules = compile(&parsed.program, &loader).rules.unwrap();
    let id = |relay: &crate::ruleset::prefilter::Relay| rules.rule(relay.rule).unwrap().info.id.get();
    let found: Vec<_> = rules.prefilter.relays.iter().map(|relay| (id(relay), relay.others.len())).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn a_rule_hands_over_in_variables_of_its_own_only() {
    let relay = "SecRule ARGS_NAMES \"@rx ^.*$\" \"id:1,phase:2,capture,chain,setvar:'tx.a_%{TX.0}=/%{TX.0}/'\"\n\
                 SecRule TX:/^a_/ \"@within %{tx.list}\"\n";
    relays(relay, &[(1, 0)]);
    for (other, patterns) in [
        ("SecRule TX:/b_a/ \"@gt 1\" \"id:2,phase:2\"", 1),
        ("SecRule TX:/^b_/ \"@gt 1\" \"id:2,phase:2\"", 0),
        ("SecRule TX:b \"@gt 1\" \"id:2,phase:2,setvar:'tx.b_%{TX.0}=%{tx.0}'\"", 0),
    ] {
        relays(&format!("{relay}{other}"), &[(1, patterns)]);
    }
    for other in [
        "SecRule TX \"@gt 1\" \"id:2,phase:2\"",
        "SecRule TX:/a/ \"@gt 1\" \"id:2,phase:2\"",
        "SecRule TX:/_b/ \"@gt 1\" \"id:2,phase:2\"",
        "SecRule TX:/^a_b/ \"@gt 1\" \"id:2,phase:2\"",
        "SecRule TX:/^a/ \"@gt 1\" \"id:2,phase:2\"",
        "SecRule TX:/b$/ \"@gt 1\" \"id:2,phase:2\"",
        "SecRule TX:a_b \"@gt 1\" \"id:2,phase:2\"",
        "SecAction \"id:2,phase:2,setvar:'tx.a_b=1'\"",
        "SecAction \"id:2,phase:2,setvar:'tx.a%{TX.0}=1'\"",
        "SecAction \"id:2,phase:2,setvar:'tx.%{TX.0}=1'\"",
        "SecAction \"id:2,phase:2,msg:'%{tx.a_b}'\"",
    ] {
        relays(&format!("{relay}{other}"), &[]);
    }
    for (from, to) in [
        ("\"@rx", "\"!@rx"),
        ("=/%{TX.0}/", "=/%{tx.b}/"),
        ("=/", "=+/"),
        ("tx.a_", "tx."),
        ("TX:/^a_/", "TX:/a_/"),
        ("TX:/^a_/", "&TX:/^a_/"),
        ("\"@within", "\"!@within"),
        ("%{tx.list}", "%{tx.1}"),
    ] {
        assert!(relay.contains(from), "{from}");
        relays(&relay.replace(from, to), &[]);
    }
}
