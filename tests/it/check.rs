//! `portcullis check`: requests in, verdicts out, by the real binary.

use crate::command::{Ran, Sandbox};

/// What stands in the way of judging is said all at once, and the exit code is 2.
#[test]
fn what_is_wrong_is_said_at_once() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"uri\":\"/\"}\n{\"url\":\"/\"}\n[]\n");
    sandbox.write("b.http", "POST / HTTP/1.1\nHost: h\n\nbody");
    let ran = sandbox.run(&["check", "a.jsonl", "b.http", "none.har"]);
    let expected = [
        "error: a.jsonl:2: unknown key `url`; the keys are ",
        "a.jsonl:3: not a JSON object; write ",
        "b.http: 4 bytes follow the message; write `Content-Length: 4`",
        "none.har: No such file or directory",
    ];
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert_eq!((ran.code, &ran.stdout[..], lines.len()), (2, "", expected.len()), "{ran:?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}");
    }
}

#[test]
fn usage_errors_exit_with_2() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "");
    let cases: [(&[&str], &str); 5] = [
        (&["check"], "required arguments"),
        (&["check", "--mode", "off", "a.jsonl"], "invalid value 'off'"),
        (&["check", "--format", "xml", "a.jsonl"], "invalid value 'xml'"),
        (&["check", "--policy", "other", "a.jsonl"], "error: no policy `other`; there are `default`"),
        (&["check", "--set", "no.such.key=1", "a.jsonl"], "--set no.such.key=1: "),
    ];
    for (arguments, expected) in cases {
        let ran: Ran = sandbox.run(arguments);
        assert_eq!((ran.code, &ran.stdout[..]), (2, ""), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
    }
}

const RULES: &str = r#"
SecRequestBodyAccess On
SecRule ARGS "@contains attack" "id:1001,phase:2,deny,status:406,log,msg:'probe %{MATCHED_VAR}',severity:CRITICAL,tag:'t'"
SecRule REQUEST_URI "@beginsWith /go" "id:1002,phase:1,redirect:https://shop.example/x,log,msg:'go'"
"#;

const REQUESTS: &str = r#"{"id":"fine","uri":"/?q=1"}
{"uri":"/?q=attack"}
{"id":"go","uri":"/go"}
{"id":"body","method":"POST","uri":"/","headers":[["Content-Type","application/x-www-form-urlencoded"]],"body":"q=attack"}
{"id":"cut","method":"POST","uri":"/","body":"q","body_state":"partial"}
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("rules.conf", RULES);
    sandbox.write("r.jsonl", REQUESTS);
    sandbox.write("raw.http", "GET /?q=attack HTTP/1.1\r\nHost: h\r\n\r\n");
    sandbox.write("bad.http", "GET /#x HTTP/1.1\r\nHost: h\r\n\r\n");
    sandbox
}

/// The JSON lines without the time they took, which is in each.
fn lines(ran: &Ran) -> Vec<String> {
    let timeless = |line: &str| {
        let (head, tail) = line.split_once(",\"eval_us\":").unwrap();
        assert!(tail.trim_end_matches('}').parse::<u64>().is_ok(), "{line}");
        head.to_owned()
    };
    ran.stdout.lines().map(timeless).collect()
}

#[test]
fn json_verdicts() {
    let ran = sandbox().run(&["check", "--rules", "rules.conf", "--format", "json", "r.jsonl", "raw.http", "bad.http"]);
    assert_eq!((ran.code, &ran.stderr[..]), (0, ""));
    let score = r#""score":{"inbound":0,"threshold":0,"per_pl":[0,0,0,0]}"#;
    let probe = |variable: &str| {
        format!(
            r#"{{"id":1001,"msg":"probe attack","severity":"CRITICAL","phase":2,"tags":["t"],"matches":[{{"variable":"{variable}","value":"attack"}}]}}"#
        )
    };
    let denied = |id: &str| {
        format!(
            r#"{{"id":"{id}","verdict":"deny","status":406,{score},"rules":[{}],"not_inspected":[]"#,
            probe("ARGS:q")
        )
    };
    let expected = [
        format!(r#"{{"id":"fine","verdict":"allow","status":200,{score},"rules":[],"not_inspected":[]"#),
        denied("r.jsonl:2"),
        format!(
            r#"{{"id":"go","verdict":"redirect","status":302,"location":"https://shop.example/x",{score},"rules":[{{"id":1002,"msg":"go","severity":null,"phase":1,"tags":[],"matches":[{{"variable":"REQUEST_URI","value":"/go"}}]}}],"not_inspected":[]"#
        ),
        denied("body"),
        format!(
            r#"{{"id":"cut","verdict":"deny","status":413,"reason":"body not inspected",{score},"rules":[],"not_inspected":["body_partial","body_skipped"]"#
        ),
        denied("raw.http"),
        format!(
            r#"{{"id":"bad.http","verdict":"deny","status":400,"reason":"fragment in the target",{score},"rules":[],"not_inspected":[]"#
        ),
    ];
    assert_eq!(lines(&ran), expected);
}

#[test]
fn detection_mode_says_what_blocking_would_do() {
    let sandbox = sandbox();
    let arguments = ["check", "--rules", "rules.conf", "--mode", "detect", "--fail-on-deny"];
    let ran = sandbox.run(&[&arguments[..], &["--format", "json", "r.jsonl"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let would = [
        r#""would":{"verdict":"allow","status":200}"#,
        r#""would":{"verdict":"deny","status":406}"#,
        r#""would":{"verdict":"redirect","status":302,"location":"https://shop.example/x"}"#,
        r#""would":{"verdict":"deny","status":406}"#,
        r#""would":{"verdict":"deny","status":413,"reason":"body not inspected"}"#,
    ];
    let lines = lines(&ran);
    assert_eq!(lines.len(), would.len());
    for (line, would) in lines.iter().zip(would) {
        assert!(line.contains(r#""verdict":"allow","status":200,"would""#) && line.contains(would), "{line}");
    }
    let ran = sandbox.run(&[&arguments[..], &["r.jsonl"]].concat());
    assert!(ran.stdout.ends_with("5 requests: 5 allowed, 0 denied; blocking mode would deny 4\n"), "{}", ran.stdout);
}

#[test]
fn exit_codes_and_explanations() {
    let sandbox = sandbox();
    for (file, flag, code) in
        [("raw.http", None, 0), ("raw.http", Some("--fail-on-deny"), 1), ("bad.http", Some("--fail-on-deny"), 1)]
    {
        let arguments: Vec<_> = ["check", "--rules", "rules.conf"].into_iter().chain(flag).chain([file]).collect();
        assert_eq!(sandbox.run(&arguments).code, code, "{arguments:?}");
    }
    let ran = sandbox.run(&["check", "--rules", "rules.conf", "--explain", "raw.http"]);
    let expected = "DENY 406  raw.http  GET /?q=attack\n  \
                    1001 CRITICAL probe attack\n      \
                    at rules.conf:3, phase 2, decides\n      \
                    ARGS:q = attack\n\
                    1 request: 0 allowed, 1 denied\n";
    assert_eq!((ran.code, &ran.stdout[..]), (0, expected));
    let ran = sandbox.run(&["check", "--rules", "none.conf", "raw.http"]);
    assert!(ran.code == 2 && ran.stderr.contains("none.conf"), "{ran:?}");
}

#[test]
fn standard_input_is_a_file_too() {
    use std::io::Write as _;
    let sandbox = sandbox();
    let mut command = sandbox.command(&["check", "--rules", "rules.conf", "-"]);
    let mut child = command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\"id\":\"x\",\"uri\":\"/?q=attack\"}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("DENY 406  x  GET /?q=attack\n"));
}
