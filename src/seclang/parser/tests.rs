//! What the parser reads and what it says, as tables.

use super::*;
use crate::seclang::ast::{Action, Key, Target};
use crate::seclang::diag::Level;
use crate::seclang::print;
use crate::seclang::source::MemoryLoader;

fn files(list: &[(&str, &str)]) -> MemoryLoader {
    let mut loader = MemoryLoader::new();
    for (path, text) in list {
        loader.insert(*path, text.as_bytes().to_vec());
    }
    loader
}

fn read(text: &str) -> Parsed {
    parse_text(&MemoryLoader::new(), "main.conf", text.as_bytes())
}

/// The bytes that a diagnostic underlines.
fn underlined(parsed: &Parsed, diagnostic: &Diagnostic) -> String {
    let Span { file, line, column, len } = diagnostic.span;
    let line = parsed.program.sources.line(file, line).unwrap_or_default();
    let start = column as usize - 1;
    let end = (start + len as usize).min(line.len());
    String::from_utf8_lossy(line.get(start..end).unwrap_or_default()).into_owned()
}

/// Level, place, underlined text, message and help of one diagnostic.
fn summary(parsed: &Parsed, diagnostic: &Diagnostic) -> String {
    let Span { file, line, column, .. } = diagnostic.span;
    let level = diagnostic.level.name();
    let text = underlined(parsed, diagnostic);
    let help = diagnostic.help.clone().unwrap_or_default();
    let file = parsed.program.sources.path(file);
    format!("{file}:{line}:{column} [{text}] {level}: {}; {help}", diagnostic.message)
}

fn check(text: &str, expected: &[&str]) {
    check_files(&[("main.conf", text)], expected);
}

fn check_files(list: &[(&str, &str)], expected: &[&str]) {
    let parsed = parse(&files(list), "main.conf");
    let got: Vec<_> = parsed.diagnostics.iter().map(|diagnostic| summary(&parsed, diagnostic)).collect();
    assert_eq!(got, expected, "{list:?}");
}

#[test]
fn errors_name_place_text_and_fix() {
    let cases: &[(&str, &[&str])] = &[
        ("SecRul ARGS x", &["main.conf:1:1 [SecRul] error: unknown directive `SecRul`; did you mean `SecRule`?"]),
        (
            "\n  secruleengin On\n",
            &["main.conf:2:3 [secruleengin] error: unknown directive `secruleengin`; did you mean `SecRuleEngine`?"],
        ),
        (
            "Frobnicate 1",
            &["main.conf:1:1 [Frobnicate] error: unknown directive `Frobnicate`; \
               a directive starts with `Sec` or `Include`; comments start with `#`"],
        ),
        (
            "<IfModule mod_security2.c>",
            &["main.conf:1:1 [<IfModule] error: unknown directive `<IfModule`; \
               remove it; sections of a server's configuration have no meaning here"],
        ),
        (
            "SecAction \"id:1\"\n  \"phase:2\"",
            &["main.conf:2:3 [\"phase:2\"] error: unknown directive `\"phase:2\"`; \
               end the line above with `\\` if this belongs to it"],
        ),
        (
            "SecRule",
            &["main.conf:1:1 [SecRule] error: `SecRule` has no targets; \
               write `SecRule TARGETS \"OPERATOR\" \"ACTIONS\"`"],
        ),
        (
            "SecRule ARGS",
            &["main.conf:1:1 [SecRule] error: `SecRule` has no operator; \
               write `SecRule TARGETS \"OPERATOR\" \"ACTIONS\"`"],
        ),
        (
            "SecRule ARGS @rx foo \"id:1\"",
            &["main.conf:1:23 [id:1] error: too many arguments for `SecRule`; \
               put `\"` around an argument that holds blanks"],
        ),
        (
            "SecRuleEngine On # really",
            &["main.conf:1:18 [#] error: too many arguments for `SecRuleEngine`; \
               write the comment on a line of its own"],
        ),
        (
            "SecRuleEngine",
            &["main.conf:1:1 [SecRuleEngine] error: `SecRuleEngine` has no argument; \
               write `SecRuleEngine On|Off|DetectionOnly`"],
        ),
        (
            "SecRule ARGS \"@rx foo \\\n    bar",
            &["main.conf:1:14 [\"@rx foo ] error: no closing `\"`; \
               close the text with `\"`, or end the line with `\\` if it goes on in the next line"],
        ),
        (
            "SecRule ARGS \"@rx a\"b\" \"id:1\"",
            &["main.conf:1:21 [b\"] error: text directly after the closing `\"`; \
               write `\\\"` for a quote inside the text, or put a blank between two arguments"],
        ),
        (
            "SecRule TX.foo \"@eq 1\" \"id:1\"",
            &["main.conf:1:9 [TX.foo] error: bad variable name `TX.foo`; \
               write `TX:foo`; the form with a dot is for macros only"],
        ),
        (
            "SecRule ARGS|9a \"@eq 1\" \"id:1\"",
            &["main.conf:1:14 [9a] error: bad variable name `9a`; \
               names start with a letter and have letters, digits and `_`; separate targets with `|`"],
        ),
        (
            "SecRule ARGS|!&ARGS \"@eq 1\" \"id:1\"",
            &["main.conf:1:15 [&ARGS] error: bad variable name `&ARGS`; write `!` or `&`, not both"],
        ),
        (
            "SecRule \"ARGS||ARGS_NAMES\" \"@eq 1\" \"id:1\"",
            &["main.conf:1:15 [|] error: missing variable name; \
               write targets such as `ARGS|!ARGS:name|REQUEST_HEADERS:User-Agent`"],
        ),
        (
            "SecRule \"ARGS ARGS_NAMES\" \"@eq 1\" \"id:1\"",
            &["main.conf:1:15 [ARGS_NAMES] error: `A` does not belong to a target; separate targets with `|`"],
        ),
        (
            "SecRule ARGS:|ARGS:' @eq \"id:1\"",
            &[
                "main.conf:1:13 [:] error: the selector after `:` is empty; write `ARGS` for all members",
                "main.conf:1:20 ['] error: no closing `'` in a selector; end the selector with `'`",
            ],
        ),
        (
            "SecRule TX:/a|b @eq \"id:1\"",
            &["main.conf:1:12 [/a|b] error: no closing `/` in a pattern selector; \
               end the pattern with `/`, or write `'/name'` for a name that starts with a slash"],
        ),
        (
            "SecRule TX:/a/b \"@eq 1\" \"id:1\"",
            &["main.conf:1:15 [b] error: `b` does not belong to a target; separate targets with `|`"],
        ),
        (
            "SecRule ARGS \"! @ x\" \"id:1\"",
            &["main.conf:1:15 [! @ x] error: missing operator name after `@`; \
               write an operator such as `@rx PATTERN`; a pattern that starts with `@` needs `@rx` before it"],
        ),
        (
            "SecAction \"id:1,msg:'a\"",
            &["main.conf:1:21 ['a] error: no closing `'` in an action; \
               end the value with `'`; write `\\'` for a quote inside it"],
        ),
        (
            "SecAction \"id:1,msg:'a'b,pass\"",
            &["main.conf:1:24 [b] error: text after the closing `'` of an action; \
               separate actions with `,`; write `\\'` for a quote inside the value"],
        ),
        (
            "SecAction \"id:1,deny status:403\"",
            &["main.conf:1:17 [deny status] error: bad action name `deny status`; \
               separate actions with `,`; a value that holds a comma needs single quotes"],
        ),
        (
            "SecAction \"id:1,,pass,\"",
            &[
                "main.conf:1:17 [,] error: missing action name; write `name` or `name:value`",
                "main.conf:1:22 [,] warning: `,` with no action behind it; remove it",
            ],
        ),
        (
            "SecRuleRemoveById 1 x,7-3 4294967296",
            &[
                "main.conf:1:21 [x] error: `x` is not a rule id; \
                 write an id such as `942100` or a range such as `942100-942199`",
                "main.conf:1:23 [7-3] error: the range `7-3` is empty; write `3-7`",
                "main.conf:1:27 [4294967296] error: `4294967296` is not a rule id; \
                 write an id such as `942100` or a range such as `942100-942199`",
            ],
        ),
        (
            "SecRuleUpdateTargetById 1 2",
            &["main.conf:1:1 [SecRuleUpdateTargetById] error: `SecRuleUpdateTargetById` has no targets; \
               write `SecRuleUpdateTargetById ID|FIRST-LAST \"TARGETS\"`"],
        ),
        (
            "SecRuleUpdateTargetById 1 ARGS ARGS_GET ARGS_POST",
            &["main.conf:1:41 [ARGS_POST] error: too many arguments for `SecRuleUpdateTargetById`; \
               put `\"` around an argument that holds blanks"],
        ),
        (
            "SecRuleUpdateActionById 1:x \"deny\"",
            &["main.conf:1:27 [x] error: `x` is not the number of a chain's link; \
               write `ID:1` for the first rule behind the starter"],
        ),
        (
            "SecRule ARGS \\ \n  \"@rx x\" \"id:1\"",
            &["main.conf:1:14 [\\] warning: blanks after the `\\` at the end of the line; \
               remove them; other engines do not continue the line here"],
        ),
        (
            "SecRule ARGS \"@rx x\" \\\n  # why\\\n \"id:1\"",
            &["main.conf:2:3 [# why\\] error: a comment inside a continued directive; \
               move it above the directive; some engines take it as part of the directive"],
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
    assert_eq!(cases.len(), 31);
}

#[test]
fn all_errors_come_at_once_with_their_physical_places() {
    check(
        "SecRule ARGS|TX.a \\\r\n    \"@rx x\" \\\r\n    \"id:1,\\\r\n    bad name,\\\r\n    pass\"\r\nSecBad\r\n",
        &[
            "main.conf:1:14 [TX.a] error: bad variable name `TX.a`; \
             write `TX:a`; the form with a dot is for macros only",
            "main.conf:4:5 [bad name] error: bad action name `bad name`; \
             separate actions with `,`; a value that holds a comma needs single quotes",
            "main.conf:6:1 [SecBad] error: unknown directive `SecBad`; \
             a directive starts with `Sec` or `Include`; comments start with `#`",
        ],
    );
}

#[test]
fn places_survive_escaped_quotes() {
    check(
        "SecAction \"id:1,msg:'\\\"a\\\"',x y\"",
        &["main.conf:1:29 [x y] error: bad action name `x y`; \
           separate actions with `,`; a value that holds a comma needs single quotes"],
    );
}

#[test]
fn includes_are_resolved_in_place() {
    let loader = files(&[
        (
            "etc/main.conf",
            "SecMarker a\nInclude \"sub/*.conf\"\nIncludeOptional none.conf\nIncludeOptional x/*.conf\nSecMarker z",
        ),
        ("etc/sub/2.conf", "SecMarker c\nInclude deep/d.conf\r\n"),
        ("etc/sub/1.conf", "SecMarker b"),
        ("etc/sub/deep/d.conf", "SecMarker d"),
    ]);
    let parsed = parse(&loader, "etc/main.conf");
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    assert_eq!(
        print::program(&parsed.program),
        b"SecMarker \"a\"\nSecMarker \"b\"\nSecMarker \"c\"\nSecMarker \"d\"\nSecMarker \"z\"\n"
    );
    let from: Vec<_> = parsed.program.directives.iter().map(|d| parsed.program.sources.path(d.span.file)).collect();
    let paths = ["etc/main.conf", "etc/sub/1.conf", "etc/sub/2.conf", "etc/sub/deep/d.conf", "etc/main.conf"];
    assert!(from.iter().map(AsRef::as_ref).eq(paths));
}

#[test]
fn includes_that_fail_say_why() {
    check_files(
        &[
            ("main.conf", "Include a.conf"),
            ("a.conf", "Include gone.conf\nInclude gone/*.conf\nInclude ./x/../main.conf"),
        ],
        &[
            "a.conf:1:9 [gone.conf] error: cannot read `gone.conf`: no file `gone.conf`; \
             paths are relative to the file that includes them",
            "a.conf:2:9 [gone/*.conf] warning: no file matches `gone/*.conf`; \
             write `IncludeOptional` if that is fine",
            "a.conf:3:9 [./x/../main.conf] error: `./x/../main.conf` includes itself; \
             remove one include of the circle",
        ],
    );
    let missing = parse(&MemoryLoader::new(), "main.conf");
    let got: Vec<_> = missing.diagnostics.iter().map(|diagnostic| summary(&missing, diagnostic)).collect();
    assert_eq!(got, ["main.conf:1:1 [] error: cannot read `main.conf`: no file `main.conf`; "]);
}

#[test]
fn includes_end() {
    let numbered: Vec<_> = (0..200).map(|n| (format!("{n}.conf"), format!("Include {}.conf\n", n + 1))).collect();
    let mut loader = MemoryLoader::new();
    for (path, text) in numbered {
        loader.insert(path, text.into_bytes());
    }
    let parsed = parse(&loader, "0.conf");
    let got: Vec<_> = parsed.diagnostics.iter().map(|diagnostic| summary(&parsed, diagnostic)).collect();
    assert_eq!(
        got,
        ["100.conf:1:9 [101.conf] error: includes are nested more than 100 deep; include the files from one place"]
    );

    /// Every path is another file that includes two more.
    struct Endless;
    impl Loader for Endless {
        fn read(&self, path: &str) -> Result<Vec<u8>, String> {
            Ok(format!("Include a{path}\nInclude b{path}\n").into_bytes())
        }
        fn glob(&self, _pattern: &str) -> Result<Vec<String>, String> {
            Ok(Vec::new())
        }
    }
    let parsed = parse(&Endless, "x");
    assert!(parsed.diagnostics.iter().any(|d| d.message == "more than 10000 files are included"));
}

/// Directives read from text, printed in the printer's one form.
#[test]
fn lines_are_joined_and_split() {
    let cases: &[(&str, &str)] = &[
        ("", ""),
        ("\n \t\n# c\n   # d", ""),
        ("\u{feff}SecMarker a", "SecMarker \"a\"\n"),
        ("SecMarker a\r\nSecMarker\tb\n", "SecMarker \"a\"\nSecMarker \"b\"\n"),
        ("secmarker \\\n  \\\n  a", "secmarker \"a\"\n"),
        // Blanks in front of a joined line are dropped inside quotes; outside they still separate.
        ("SecMarker \"a\\\n   b\"", "SecMarker \"ab\"\n"),
        ("SecMarker \"a \\\n   b\"", "SecMarker \"a b\"\n"),
        ("SecRule ARGS\\\n  @rx\\\n  id:1", "SecRule \"ARGS\" \"@rx\" \"id:1\"\n"),
        ("SecRule \"ARGS\"\\\n  \"@rx\"", "SecRule \"ARGS\" \"@rx\"\n"),
        // A comment that ends in a backslash swallows what follows.
        ("# a\\\nSecMarker a\nSecMarker b", "SecMarker \"b\"\n"),
        ("#SecRule ARGS x \\\n  \"id:1,\\\n  pass\"\nSecMarker b", "SecMarker \"b\"\n"),
        ("# a\\\n# b\\\n", ""),
        ("# a\\ \nSecMarker b", "SecMarker \"b\"\n"),
        ("\\\n# a\nSecMarker b", "SecMarker \"b\"\n"),
        // An empty line ends a directive though a backslash stood before it.
        ("SecMarker a \\\n\nSecMarker b", "SecMarker \"a\"\nSecMarker \"b\"\n"),
        ("SecMarker a\\", "SecMarker \"a\"\n"),
        // Only the quote is an escape; a pair of backslashes stays and hides nothing.
        (r#"SecMarker "a\"b""#, "SecMarker \"a\\\"b\"\n"),
        (r#"SecMarker "a\\""#, "SecMarker \"a\\\\\"\n"),
        (r#"SecMarker "\d\\d""#, "SecMarker \"\\d\\\\d\"\n"),
        (r#"SecMarker 'a "b" \'c'"#, "SecMarker \"a \\\"b\\\" 'c\"\n"),
        (r#"SecMarker 'a\"'"#, "SecMarker a\\\"\n"),
        (r#"SecMarker 'a \"'"#, "SecMarker 'a \\\"'\n"),
        ("SecMarker a\"b", "SecMarker \"a\\\"b\"\n"),
    ];
    for (text, expected) in cases {
        let parsed = read(text);
        assert!(parsed.diagnostics.is_empty(), "{text:?}: {:?}", parsed.diagnostics);
        assert_eq!(String::from_utf8_lossy(&print::program(&parsed.program)), *expected, "{text:?}");
    }
    assert_eq!(cases.len(), 23);
}

fn targets_of(text: &str) -> Vec<Target> {
    let parsed = read(&format!("SecRule {text} \"@rx x\""));
    assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
    match parsed.program.directives.into_iter().next().map(|directive| directive.kind) {
        Some(DirectiveKind::Rule { targets, .. }) => targets,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn targets_are_read() {
    use Key::{Literal, Regex, XPath};
    let key = |key: &dyn Fn(Vec<u8>) -> Key, text: &str| Some(key(text.as_bytes().to_vec()));
    let cases = [
        ("ARGS", "", "ARGS", None),
        ("!ARGS:foo", "!", "ARGS", key(&Literal, "foo")),
        ("&args:a.b[c][]", "&", "args", key(&Literal, "a.b[c][]")),
        ("\"  ARGS:foo bar  \"", "", "ARGS", key(&Literal, "foo bar")),
        ("ARGS:'a|b,c'", "", "ARGS", key(&Literal, "a|b,c")),
        ("ARGS:'/a'", "", "ARGS", key(&Literal, "/a")),
        ("ARGS:it's", "", "ARGS", key(&Literal, "it's")),
        ("TX:/^a|b/", "", "TX", key(&Regex, "^a|b")),
        ("TX:'/a|b\\/c/d/'", "", "TX", key(&Regex, "a|b/c/d")),
        (r"&TX:'/LEAKAGE\\\/ERRORS/'", "&", "TX", key(&Regex, r"LEAKAGE\\/ERRORS")),
        (r"REQUEST_COOKIES:/\x22?\/\\/", "", "REQUEST_COOKIES", key(&Regex, r"\x22?/\\")),
        (
            r"!ARGS_NAMES:/^[\w]+\[[\w\-]+\]\[[\w\-]*?\]$/",
            "!",
            "ARGS_NAMES",
            key(&Regex, r"^[\w]+\[[\w\-]+\]\[[\w\-]*?\]$"),
        ),
        ("XML:/*", "", "XML", key(&XPath, "/*")),
        ("xml://@*", "", "xml", key(&XPath, "//@*")),
        ("XML:/a[1,2]/text()", "", "XML", key(&XPath, "/a[1,2]/text()")),
        ("XML:'/a|/b'", "", "XML", key(&XPath, "/a|/b")),
        ("JSON:$.a", "", "JSON", key(&XPath, "$.a")),
    ];
    for (text, flag, name, key) in cases {
        let targets = targets_of(text);
        let [target] = targets.as_slice() else { panic!("{text}: {targets:?}") };
        assert_eq!((target.negated, target.count), (flag == "!", flag == "&"), "{text}");
        assert_eq!(target.name.node, name, "{text}");
        assert_eq!(target.key.as_ref().map(|key| &key.node), key.as_ref(), "{text}");
        let again =
            targets_of(&format!("\"{}\"", String::from_utf8_lossy(&print::targets(&targets)).replace('"', "\\\"")));
        assert_eq!(print::targets(&again), print::targets(&targets), "{text}");
    }
}

#[test]
fn target_lists_are_split_outside_patterns() {
    for (text, expected) in [
        ("ARGS|ARGS_NAMES,FILES", "ARGS|ARGS_NAMES|FILES"),
        ("\"ARGS | !ARGS:a , XML:/* | XML://@*\"", "ARGS|!ARGS:a|XML:/*|XML://@*"),
        ("XML:/*,ARGS:a,XML:/a[1,2]|XML:'/a,b'", "XML:/*|ARGS:a|XML:'/a[1,2]'|XML:'/a,b'"),
        ("ARGS:/a{1,2}|b/|ARGS:c", "ARGS:/a{1,2}|b/|ARGS:c"),
        ("\"TX:'/a|b/' |TX:x\"", "TX:/a|b/|TX:x"),
        ("\"ARGS\\\n   |FILES\"", "ARGS|FILES"),
    ] {
        assert_eq!(String::from_utf8_lossy(&print::targets(&targets_of(text))), expected, "{text}");
    }
}

#[test]
fn operators_are_read() {
    for (text, negated, name, implied, argument) in [
        ("\"@rx a b\"", false, "rx", false, "a b"),
        ("\"!@rx  a b  \"", true, "rx", false, "a b"),
        ("\"! @eq 0\"", true, "eq", false, "0"),
        ("\"@rx a\\ \"", false, "rx", false, "a\\ "),
        ("\"@rx a\\\\ \"", false, "rx", false, "a\\\\"),
        ("^POST$", false, "rx", true, "^POST$"),
        ("\"!x y\"", true, "rx", true, "x y"),
        ("\"\"", false, "rx", true, ""),
        ("\"@detectSQLi\"", false, "detectSQLi", false, ""),
        ("\"@beginsWith\t/a\"", false, "beginsWith", false, "/a"),
        ("\"@rx \\\"x\\\"\"", false, "rx", false, "\"x\""),
    ] {
        let parsed = read(&format!("SecRule ARGS {text} \"id:1\""));
        assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
        let Some(DirectiveKind::Rule { operator, .. }) = parsed.program.directives.first().map(|d| &d.kind) else {
            panic!("{text}");
        };
        assert_eq!((operator.negated, operator.implied), (negated, implied), "{text}");
        assert_eq!(
            (operator.name.node.as_str(), operator.argument.node.as_slice()),
            (name, argument.as_bytes()),
            "{text}"
        );
    }
}

/// The operators' arguments in load order.
fn arguments_of(parsed: &Parsed) -> Vec<String> {
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let rules = parsed.program.directives.iter().filter_map(|directive| match &directive.kind {
        DirectiveKind::Rule { operator, .. } => Some(String::from_utf8_lossy(&operator.argument.node).into_owned()),
        _ => None,
    });
    rules.collect()
}

#[test]
fn four_backslashes_are_two_in_crs_3_alone() {
    let rule = r#"SecRule ARGS:'/\\\\/' "@rx \d[\\/]\\\\[c]\\\\\\\\\(x\"\\\\" "id:1,msg:'\\\\'""#;
    let kept = r#"\d[\\/]\\\\[c]\\\\\\\\\(x"\\\\"#;
    let halved = r#"\d[\\/]\\[c]\\\\\(x"\\"#;
    for (said, expected) in [
        ("", kept),
        ("SecComponentSignature \"OWASP_CRS/3.3.10\"", halved),
        ("seccomponentsignature OWASP_CRS/3.0.0", halved),
        ("SecComponentSignature \"OWASP_CRS/4.28.0\"", kept),
        ("SecAction \"id:2,ver:'OWASP_CRS/3.2.1'\"", halved),
        ("SecAction \"id:2,\\\n    VER: OWASP_CRS/3.2.1,\\\n    pass\"", halved),
        ("SecAction \"id:2,ver:'OWASP_CRS/33.2.1'\"", kept),
        ("SecAction \"id:2,rever:'OWASP_CRS/3.2.1'\"", kept),
        ("SecAction \"id:2,tag:'OWASP_CRS/3.2.1'\"", kept),
        ("SecAction \"id:2,msg:'as OWASP_CRS/3.2.1 does'\"", kept),
        ("  # ver:'OWASP_CRS/3.2.1'", kept),
        ("#SecAction \"id:2,\\\n#ver:'OWASP_CRS/3.2.1'\"", kept),
    ] {
        assert_eq!(arguments_of(&read(&format!("{said}\n{rule}"))), [expected], "{said}");
        assert_eq!(arguments_of(&read(&format!("{rule}\n{said}"))), [expected], "{said}");
    }
    let parsed = read(&format!("{rule},ver:'OWASP_CRS/3.2.1'\"").replace("'\",", "',"));
    let Some(DirectiveKind::Rule { targets, operator, actions }) = parsed.program.directives.first().map(|d| &d.kind)
    else {
        panic!("{:?}", parsed.diagnostics);
    };
    assert_eq!(print::targets(targets), br"ARGS:/\\\\/", "targets and actions stay");
    assert_eq!(print::actions(actions), br"id:1,msg:\\\\,ver:OWASP_CRS/3.2.1");
    assert_eq!(operator.argument.node, halved.as_bytes());
}

#[test]
fn an_included_file_has_its_own_reading() {
    let rule = |id: u32, ver: &str| format!("SecRule ARGS \"@rx {id}{}\" \"id:{id},ver:'{ver}'\"\n", r"\\\\");
    let crs = format!("{}Include user.conf\n{}", rule(1, "OWASP_CRS/3.3.10"), rule(3, "OWASP_CRS/3.3.10"));
    let main = format!("{}Include crs.conf\n{}", rule(0, "mine"), rule(4, "OWASP_CRS/4.0.0"));
    let loader = files(&[("main.conf", &main), ("crs.conf", &crs), ("user.conf", &rule(2, "mine"))]);
    let expected = [r"0\\\\", r"1\\", r"2\\\\", r"3\\", r"4\\\\"];
    assert_eq!(arguments_of(&parse(&loader, "main.conf")), expected);
}

#[test]
fn places_survive_halved_backslashes() {
    let argument = r#"\\\\\"a\\\\b"#;
    let text = format!("SecComponentSignature OWASP_CRS/3.3\nSecRule ARGS \"!@rx {argument} \" id:1");
    let parsed = read(&text);
    assert_eq!(arguments_of(&parsed), [r#"\\"a\\b"#]);
    let Some(DirectiveKind::Rule { operator, .. }) = parsed.program.directives.last().map(|d| &d.kind) else {
        panic!("{:?}", parsed.diagnostics);
    };
    assert_eq!(underlined(&parsed, &Diagnostic::error(operator.argument.span, "")), argument);
}

fn actions_of(text: &str) -> Vec<Action> {
    let parsed = read(&format!("SecAction {text}"));
    assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
    match parsed.program.directives.into_iter().next().map(|directive| directive.kind) {
        Some(DirectiveKind::Action(actions)) => actions,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn actions_are_read() {
    type Parts<'a> = &'a [(&'a str, Option<&'a str>)];
    let cases: &[(&str, Parts<'_>)] = &[
        ("\"id:1,deny\"", &[("id", Some("1")), ("deny", None)]),
        ("\"id:'200002', phase:2 , pass\"", &[("id", Some("200002")), ("phase", Some("2")), ("pass", None)]),
        ("id:1,phase:'request'", &[("id", Some("1")), ("phase", Some("request"))]),
        (r#""msg:'a, b: \'c\' (%{TX.X})',log""#, &[("msg", Some("a, b: 'c' (%{TX.X})")), ("log", None)]),
        ("\"msg:'a \\\n    b'\"", &[("msg", Some("a b"))]),
        ("\"msg:''\"", &[("msg", Some(""))]),
        ("\"setvar:'tx.a=b=c'\"", &[("setvar", Some("tx.a=b=c"))]),
        ("\"setvar:tx.a=it's\"", &[("setvar", Some("tx.a=it's"))]),
        ("\"ctl:ruleRemoveTargetById=1-2;ARGS:a[b]\"", &[("ctl", Some("ruleRemoveTargetById=1-2;ARGS:a[b]"))]),
        (r#""logdata:'\\d \"x\"'""#, &[("logdata", Some(r#"\\d "x""#))]),
        ("\"t:none,\\\n  t:lowercase\"", &[("t", Some("none")), ("t", Some("lowercase"))]),
    ];
    for (text, expected) in cases {
        let actions = actions_of(text);
        let got: Vec<_> = actions
            .iter()
            .map(|action| {
                let value = action.value.as_ref().map(|value| String::from_utf8_lossy(&value.node).into_owned());
                (action.name.node.clone(), value)
            })
            .collect();
        let got: Vec<_> = got.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
        assert_eq!(got, *expected, "{text}");
    }
}

#[test]
fn spans_cover_the_parts_of_a_rule() {
    let parsed = read("SecRule ARGS:a|!XML:/* \"!@rx \\\"x\\\" y\" \\\n  \"id:7, msg:'a b',\\\n   t:none\"");
    let mut spans = Vec::new();
    let Some(Directive { span, kind: DirectiveKind::Rule { targets, operator, actions }, .. }) =
        parsed.program.directives.first()
    else {
        panic!("{:?}", parsed.diagnostics)
    };
    spans.push(*span);
    for target in targets {
        spans.extend([target.span, target.name.span]);
        spans.extend(target.key.as_ref().map(|key| key.span));
    }
    spans.extend([operator.span, operator.name.span, operator.argument.span]);
    for action in actions {
        spans.extend([action.span, action.name.span]);
        spans.extend(action.value.as_ref().map(|value| value.span));
    }
    let texts: Vec<_> = spans.iter().map(|span| underlined(&parsed, &Diagnostic::error(*span, ""))).collect();
    let expected = [
        "SecRule",
        "ARGS:a",
        "ARGS",
        "a",
        "!XML:/*",
        "XML",
        "/*",
        "!@rx \\\"x\\\" y",
        "rx",
        "\\\"x\\\" y",
        "id:7",
        "id",
        "7",
        "msg:'a b'",
        "msg",
        "a b",
        "t:none",
        "t",
        "none",
    ];
    assert_eq!(texts, expected);
    assert!(spans.iter().all(|span| span.len >= 1));
}

#[test]
fn selectors_are_read() {
    for (text, printed) in [
        ("SecRuleRemoveById 1 2-3 \"4,5 6\"", "SecRuleRemoveById 1 2-3 4 5 6\n"),
        ("SecRuleRemoveByTag attack-sqli", "SecRuleRemoveByTag \"attack-sqli\"\n"),
        (
            "SecRuleUpdateTargetById 9 !ARGS_NAMES:json.profile",
            "SecRuleUpdateTargetById 9 \"!ARGS_NAMES:json.profile\"\n",
        ),
        ("SecRuleUpdateTargetById 1 2-3 \"ARGS\" ARGS_GET", "SecRuleUpdateTargetById 1 2-3 \"ARGS\" \"ARGS_GET\"\n"),
        ("SecRuleUpdateTargetByTag x ARGS", "SecRuleUpdateTargetByTag \"x\" \"ARGS\"\n"),
        ("SecRuleUpdateTargetByMsg 'x y' ARGS", "SecRuleUpdateTargetByMsg \"x y\" \"ARGS\"\n"),
        ("SecRuleUpdateActionById 5:2 nolog", "SecRuleUpdateActionById 5:2 \"nolog\"\n"),
        ("SecRuleUpdateActionById 5 \"t:none, deny\"", "SecRuleUpdateActionById 5 \"t:none,deny\"\n"),
    ] {
        let parsed = read(text);
        assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
        assert_eq!(String::from_utf8_lossy(&print::program(&parsed.program)), printed, "{text}");
    }
}

#[test]
fn pieces_of_a_value_have_their_place() {
    let actions = actions_of("\"ctl:'ruleRemoveTargetById=1-2x;ARGS:a,TX.b'\"");
    let value = actions[0].value.clone().unwrap();
    let mut found = Vec::new();
    let targets = targets::targets_within(&value, 26..value.node.len(), &mut found);
    assert_eq!(print::targets(&targets), b"ARGS:a");
    let ids = selectors::ids_within(&value, 21..25, &mut found);
    assert!(ids.is_empty());
    let columns: Vec<_> = found.iter().map(|diagnostic| (diagnostic.span.column, diagnostic.span.len)).collect();
    assert!(found.iter().all(|diagnostic| diagnostic.level == Level::Error));
    assert_eq!(columns, [(50, 4), (40, 2)], "{found:?}");
}
