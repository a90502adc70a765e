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
