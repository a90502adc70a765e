//! `portcullis rules`, and what every command does with rules that do not load.

use serde_json::Value;

use crate::command::{Ran, Sandbox};
use crate::shared;

/// Two errors in two files, a warning, and a rule that is right.
fn write_broken(sandbox: &Sandbox) {
    sandbox.write(
        "main.conf",
        "SecRequestBodyAccess On\nInclude more.conf\nSecRule ARGS \"@beginWith x\" \"id:1,deny\"\n",
    );
    sandbox
        .write("more.conf", "SecRule ARGS a \"id:2,phase:1,deny\"\n\n  SecRul ARGS b \"id:3\"\nInclude none*.conf\n");
}

#[test]
fn lint_reports_every_finding_with_its_place_and_answers_no() {
    let sandbox = Sandbox::new();
    write_broken(&sandbox);
    let ran = sandbox.run(&["rules", "lint", "--rules", "main.conf"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{ran:?}");
    for part in [
        "more.conf:3:3: error: unknown directive `SecRul`; did you mean `SecRule`?\n      SecRul ARGS b \"id:3\"\n      ^^^^^^",
        "more.conf:4:9: warning: no file matches `none*.conf`",
        "main.conf:3:16: error: unknown operator `@beginWith`",
        "main.conf: not usable; errors: 2, warnings: 1, notices: 0\n",
    ] {
        assert!(ran.stdout.contains(part), "{part}\n{}", ran.stdout);
    }
}

#[test]
fn nothing_runs_on_rules_that_did_not_load_whole() {
    let sandbox = Sandbox::new();
    write_broken(&sandbox);
    sandbox.write("requests.jsonl", "{\"id\":\"a\",\"method\":\"GET\",\"uri\":\"/\",\"headers\":[[\"Host\",\"x\"]]}\n");
    let ports = ["ext_authz", "forward_auth", "admin"].map(|door| format!("listen.{door}=127.0.0.1:0"));
    let sets: Vec<&str> = ports.iter().flat_map(|port| ["--set", port]).collect();
    let serve = [["serve", "--rules", "main.conf"].as_slice(), &sets].concat();
    for arguments in [["check", "--rules", "main.conf", "requests.jsonl"].as_slice(), &serve] {
        let ran = sandbox.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}: {ran:?}");
        for error in ["more.conf:3:3: error: unknown directive", "main.conf:3:16: error: unknown operator"] {
            assert!(ran.stderr.contains(error), "{arguments:?}: {ran:?}");
        }
    }
}

#[test]
fn profiles_are_listed_and_a_wrong_name_is_a_load_error() {
    let sandbox = Sandbox::new();
    let listed = sandbox.run(&["rules", "profiles"]);
    let names: Vec<&str> = listed.stdout.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(listed.code, 0, "{listed:?}");
    assert_eq!(names, ["gitlab", "grafana", "graphql", "jsf", "nextcloud", "oidc", "wordpress"]);
    let json = sandbox.run(&["rules", "profiles", "--format", "json"]);
    let first: Value = serde_json::from_str(json.stdout.lines().next().unwrap()).unwrap();
    assert!(first["about"].as_str().is_some_and(|about| about.starts_with("GitLab")), "{first}");
    sandbox.write("p.yaml", "policies: {default: {rules: baseline, profiles: [wordpres]}}\n");
    let wrong = sandbox.run(&["serve", "--config", "p.yaml"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    for text in ["profiles: there is no profile `wordpres`; did you mean `wordpress`?", "`gitlab`, `grafana`"] {
        assert!(wrong.stderr.contains(text), "{wrong:?}");
    }
}

#[test]
fn lint_for_programs_says_the_same() {
    let sandbox = Sandbox::new();
    write_broken(&sandbox);
    let ran = sandbox.run(&["rules", "lint", "--rules", "main.conf", "--format", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &report["errors"], &report["rules"]), (1, &2.into(), &Value::Null), "{report}");
    let first = &report["diagnostics"][1];
    let place = (first["file"].as_str(), first["line"].as_u64(), first["column"].as_u64());
    assert_eq!(place, (Some("more.conf"), Some(3), Some(3)), "{report}");
}

#[test]
fn strict_turns_warnings_into_errors() {
    let sandbox = Sandbox::new();
    sandbox.write("own.conf", "SecRequestBodyAccess On\nInclude none*.conf\nSecAction \"id:1,phase:1,pass\"\n");
    let codes = |arguments: &[&str]| sandbox.run(&[&["rules", "lint", "--rules", "own.conf"], arguments].concat()).code;
    assert_eq!((codes(&[]), codes(&["--strict"])), (0, 1));
}

#[test]
fn a_set_that_is_not_there_is_no_answer_but_an_error() {
    let sandbox = Sandbox::new();
    for set in ["none.conf", "crs@0.0.1", "crs@none"] {
        let ran = sandbox.run(&["rules", "lint", "--rules", set]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
        assert!(ran.stderr.starts_with(&format!("error: rule set `{set}` is not there")), "{ran:?}");
    }
}

#[test]
fn without_a_crs_the_baseline_stands_in_and_says_so() {
    let sandbox = Sandbox::new();
    let embedded = sandbox.run(&["crs", "list"]).stdout.contains("(embedded)");
    let ran = sandbox.run(&["rules", "lint"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stdout.contains("baseline: warning: no CRS is at hand"), !embedded, "{ran:?}");
    assert!(sandbox.run(&["rules", "lint", "--rules", "baseline", "--strict"]).code == 0);
}

#[test]
fn settings_and_exclusions_of_a_policy_are_loaded_around_the_rules() {
    let sandbox = Sandbox::new();
    let rules = "SecAction \"id:900990,phase:1,pass\"\nSecRule ARGS a \"id:901001,phase:1,pass,msg:'first'\"\n\
                 SecRule ARGS b \"id:942100,phase:2,deny,tag:'paranoia-level/2',severity:2,msg:'second'\"\n";
    sandbox.write("own.conf", rules);
    let exclusions = "SecRuleRemoveById 901001\nSecRuleUpdateTargetById 942100 \"!ARGS:q\"\n\
                      SecRule REQUEST_URI \"@beginsWith /x\" \"id:7,phase:1,pass,nolog,ctl:ruleRemoveById=942100\"\n";
    sandbox.write("mine.conf", exclusions);
    let config =
        "policies:\n  default:\n    rules: own.conf\n    exclusions: [mine.conf]\n    crs: {inbound_threshold: 9}\n";
    sandbox.write("portcullis.yaml", config);
    let listed = sandbox.run(&["rules", "list", "--config", "portcullis.yaml"]);
    assert_eq!((listed.code, listed.stderr.as_str()), (0, ""), "{listed:?}");
    let ids: Vec<&str> = listed.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(ids, ["900990", "9899000", "7", "942100"]);
    let line = "942100   2 CRITICAL  PL2 own.conf:3 second";
    assert_eq!(listed.stdout.lines().last(), Some(line));
    let shown = sandbox.run(&["rules", "show", "942100", "--config", "portcullis.yaml"]).stdout;
    assert!(shown.contains("changed by       mine.conf:2: SecRuleUpdateTargetById 942100"), "{shown}");
    let removed = sandbox.run(&["rules", "show", "901001", "--config", "portcullis.yaml", "--format", "json"]).stdout;
    let removed: Value = serde_json::from_str(&removed).unwrap();
    assert_eq!(removed["removed_by"]["at"], "mine.conf:1", "{removed}");
}

#[test]
fn show_answers_no_to_an_id_that_is_not_there() {
    let sandbox = Sandbox::new();
    sandbox.write("own.conf", "SecAction \"id:1,phase:1,pass\"\n");
    let ran = sandbox.run(&["rules", "show", "2", "--rules", "own.conf"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stderr.starts_with("no rule 2 in own.conf"), "{ran:?}");
}

#[test]
fn a_tx_value_cannot_become_anything_else() {
    let sandbox = Sandbox::new();
    sandbox.write("own.conf", "SecRequestBodyAccess On\nSecAction \"id:1,phase:1,pass\"\n");
    let set = r#"tx.x=1'",deny,id:2 \d"#;
    let shown = sandbox.run(&["rules", "show", "9899000", "--rules", "own.conf", "--set", set, "--format", "json"]);
    let rule: Value = serde_json::from_str(&shown.stdout).unwrap();
    let text = rule["links"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with(r#"SecAction "id:9899000,phase:1,pass,nolog,t:none,setvar:'tx.x=1\'\",deny,id:2 \d'"#),
        "{text}"
    );
    assert_eq!(sandbox.run(&["rules", "lint", "--rules", "own.conf", "--set", set]).code, 0);
}

fn lint_crs(version: &str) -> Option<Ran> {
    let set = format!("crs@{}", shared::folder(&format!("crs/{version}"))?.display());
    Some(Sandbox::new().run(&["rules", "lint", "--rules", &set, "--format", "json"]))
}

#[test]
fn crs_4_loads_without_an_error_and_verified() {
    let Some(ran) = lint_crs("4.28.0") else { return };
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &report["errors"], &report["verified"]), (0, &0.into(), &true.into()), "{report}");
    // 629 rules with an id, one of the set-up, eight of the engine's.
    assert_eq!((&report["version"], &report["rules"]), (&"4.28.0".into(), &638.into()));
}

#[test]
fn crs_3_loads_without_an_error_and_says_what_is_inert() {
    let Some(ran) = lint_crs("3.3.10") else { return };
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &report["errors"], &report["verified"]), (0, &0.into(), &Value::Null), "{report}");
    assert_eq!((&report["version"], &report["rules"]), (&"3.3.10".into(), &647.into()));
    let messages: Vec<&str> =
        report["diagnostics"].as_array().unwrap().iter().filter_map(|one| one["message"].as_str()).collect();
    for id in ["910000", "910100", "910140", "912120", "912171", "913100", "949100", "950130", "959100"] {
        assert!(messages.iter().any(|message| message.contains(id)), "{id} is not named");
    }
}
