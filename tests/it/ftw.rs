//! `portcullis test` as its users run it: rules and tests of their own, exit codes, formats, overrides.

use crate::command::{Ran, Sandbox};

const RULES: &str = r#"SecRuleEngine On
SecRequestBodyAccess On
SecRule ARGS:q "@contains attack" "id:1001,phase:2,deny,status:403,log,msg:'Found',logdata:'%{MATCHED_VAR}'"
SecRule REQUEST_HEADERS:X-Twice "@rx ." "id:1002,phase:1,pass,log,msg:'Seen'"
"#;

/// Four tests of a made-up rule: a match, a match of the log line, a front end's refusal, and one that fails.
const TESTS: &str = r#"---
meta:
  author: "someone"
rule_id: 1001
tests:
  - test_id: 1
    desc: "in the query"
    stages:
      - input:
          headers: {Host: h}
          uri: "/?q=an+attack"
        output:
          status: 403
          log:
            expect_ids: [1001]
            no_expect_ids: [1002]
  - test_id: 2
    desc: "in a form"
    stages:
      - input:
          method: POST
          headers: {Host: h, X-Twice: "x"}
          data: "q=attack & more"
        output:
          log:
            match_regex: '\[id "1001"\] \[msg "Found"\] \[data "attack "\]'
  - test_id: 3
    stages:
      - input:
          uri: "/"
        output:
          status: 400
  - test_id: 4
    stages:
      - input:
          headers: {Host: h}
          uri: "/?q=peace"
        output:
          log:
            expect_ids: [1001]
  - test_id: 5
    stages:
      - input:
          headers: {Host: h}
          uri: "/reflect"
        output:
          log:
            expect_ids: [1001]
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("rules.conf", RULES);
    sandbox.write("tests/1001.yaml", TESTS);
    sandbox
}

fn test(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let mut all = vec!["test", "--rules", "rules.conf"];
    all.extend(arguments);
    all.push("tests");
    sandbox.run(&all)
}

#[test]
fn a_failed_test_is_told_with_its_place() {
    let ran = test(&sandbox(), &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "FAILED 1001-4 (tests/1001.yaml:33): expected 1001 logged; got no rule logged");
    assert!(lines[1].starts_with("skipped 1: response phase"), "{ran:?}");
    assert!(lines[3].starts_with("5 tests: 3 passed, 1 failed, 1 skipped in "), "{ran:?}");
}

#[test]
fn json_ends_with_the_counts() {
    let ran = test(&sandbox(), &["--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    let counts = ["total", "passed", "failed", "skipped"].map(|name| report[name].as_u64().unwrap());
    assert_eq!((ran.code, counts), (1, [5, 3, 1, 1]));
    assert_eq!(report["failures"][0]["test_id"], 4);
    assert_eq!(report["skips"][0]["test_id"], 5);
}

#[test]
fn a_filter_and_overrides_change_what_is_asked() {
    let sandbox = sandbox();
    let filtered = test(&sandbox, &["--filter", "1001-[123]"]);
    assert_eq!(filtered.code, 0, "{filtered:?}");
    let overrides = "test_overrides:\n- rule_id: 1001\n  test_ids: [4]\n  reason: harmless\n  output:\n    status: 200\n\
        - rule_id: 7\n  test_ids: [1]\n  reason: none\n";
    sandbox.write("overrides.yaml", overrides);
    let overridden = test(&sandbox, &["--overrides", "overrides.yaml"]);
    assert_eq!(overridden.code, 0, "{overridden:?}");
    assert!(overridden.stderr.contains("overrides.yaml: line 7: no test fits the override of 7"), "{overridden:?}");
}

#[test]
fn what_cannot_run_is_no_pass() {
    let sandbox = sandbox();
    let none = test(&sandbox, &["--filter", "942*"]);
    assert!(none.code == 2 && none.stderr.contains("no tests found"), "{none:?}");
    sandbox.write("tests/1002.yaml", &TESTS.replace("expect_ids", "expected_ids"));
    let unread = test(&sandbox, &[]);
    assert!(
        unread.code == 2 && unread.stderr.contains("tests/1002.yaml:15: unknown field `expected_ids`"),
        "{unread:?}"
    );
    let absent = sandbox.run(&["test", "--rules", "absent.conf", "tests/1001.yaml"]);
    assert!(absent.code == 2 && absent.stderr.contains("absent.conf"), "{absent:?}");
}
