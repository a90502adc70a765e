//! The classes of differences; `README.md` says whose each is and why.

use portcullis::input::RequestBuf;
use portcullis::seclang::ast::{Action, DirectiveKind, Program};
use portcullis::seclang::source::{Span, Spanned};
use portcullis::sets::assembly;

use super::explain::{Difference, GivenTo, Reading, Repair, Row};
use super::sample::Sample;

/// The sum of scores differs because rules do.
pub(crate) const SUM: &str = "sum of scores";

/// More than one reading is needed to get their result.
pub(crate) const SEVERAL: &str = "several readings";

/// Every class that must explain something.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let readings = READINGS.iter().map(|reading| reading.class);
    readings.chain(REPAIRS.iter().map(|repair| repair.class)).chain(ROWS.iter().map(|row| row.class)).chain([SUM])
}

pub(crate) const READINGS: [Reading; 5] = [
    Reading {
        class: "raw body",
        text: "SecAction \"id:9899900,phase:1,pass,nolog,ctl:forceRequestBodyVariable=On\"\n",
        change: |_| {},
    },
    Reading { class: "lines", text: "", change: multi_line },
    Reading { class: "NUL in utf8toUnicode", text: "", change: drop_nulls },
    Reading { class: "four backslashes", text: "", change: keep_backslashes },
    Reading { class: "REQUEST_URI decoded", text: "", change: decode_uri },
];

/// `^` and `$` at every line end.
fn multi_line(program: &mut Program) {
    for directive in &mut program.directives {
        if let DirectiveKind::Rule { operator, .. } = &mut directive.kind
            && operator.name.node.eq_ignore_ascii_case("rx")
        {
            operator.argument.node.splice(0..0, *b"(?m)");
        }
    }
}

/// In the patterns of CRS 3.x that write four backslashes, four stay four.
fn keep_backslashes(program: &mut Program) {
    const RULES: [u32; 2] = [920_460, 941_330];
    for directive in &mut program.directives {
        let is_listed = assembly::id(&directive.kind).is_some_and(|id| RULES.contains(&id));
        if let (true, DirectiveKind::Rule { operator, .. }) = (is_listed, &mut directive.kind) {
            let pattern = split(&operator.argument.node, b"\\\\").join(&b"\\\\\\\\"[..]);
            operator.argument.node = pattern;
        }
    }
}

/// `t:utf8toUnicode` also drops NUL bytes.
fn drop_nulls(program: &mut Program) {
    for directive in &mut program.directives {
        if let DirectiveKind::Rule { actions, .. } = &mut directive.kind
            && let Some(at) = actions.iter().position(|action| is_transformation(action, b"utf8toUnicode"))
        {
            actions.insert(at + 1, transformation(directive.span, b"removeNulls"));
        }
    }
}

/// REQUEST_URI is percent-decoded before any rule sees it.
fn decode_uri(program: &mut Program) {
    for directive in &mut program.directives {
        if let DirectiveKind::Rule { targets, actions, .. } = &mut directive.kind
            && targets.iter().any(|target| target.name.node.eq_ignore_ascii_case("REQUEST_URI"))
        {
            let at = actions.iter().rposition(|action| is_transformation(action, b"none")).map_or(0, |last| last + 1);
            actions.insert(at, transformation(directive.span, b"urlDecode"));
        }
    }
}

fn is_transformation(action: &Action, name: &[u8]) -> bool {
    let value = action.value.as_ref().filter(|_| action.name.node == "t");
    value.is_some_and(|value| value.node.eq_ignore_ascii_case(name))
}

fn transformation(span: Span, name: &[u8]) -> Action {
    let name = Spanned { span, node: name.to_vec() };
    Action { span, name: Spanned { span, node: "t".to_owned() }, value: Some(name) }
}

pub(crate) const REPAIRS: &[Repair] = &[
    Repair { class: "line ends in a multipart field", given_to: GivenTo::Ours, without: line_ends_in_fields },
    Repair { class: "JSON not UTF-8", given_to: GivenTo::Both, without: json_not_utf8 },
    Repair { class: "%3F in the path", given_to: GivenTo::Both, without: question_mark_in_path },
    Repair { class: "absolute target", given_to: GivenTo::Both, without: absolute_target },
    Repair { class: "NUL in other transformations", given_to: GivenTo::Both, without: nulls },
    Repair { class: "byte A0", given_to: GivenTo::Both, without: no_break_spaces },
];

fn header<'a>(sample: &'a Sample, name: &str) -> &'a [u8] {
    let mut named = sample.request.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()));
    named.next().map_or(&[], |(_, value)| value)
}

fn has_type(sample: &Sample, part: &str) -> bool {
    String::from_utf8_lossy(header(sample, "content-type")).to_ascii_lowercase().contains(part)
}

fn json_not_utf8(sample: &Sample) -> Option<Sample> {
    if !has_type(sample, "json") || std::str::from_utf8(&sample.request.body).is_ok() {
        return None;
    }
    let mut repaired = sample.clone();
    repaired.request.body = String::from_utf8_lossy(&sample.request.body).replace('\u{fffd}', "").into_bytes();
    Some(repaired)
}

fn question_mark_in_path(sample: &Sample) -> Option<Sample> {
    let path = sample.request.target.split(|byte| *byte == b'?').next()?.to_vec();
    let text = String::from_utf8_lossy(&path).into_owned();
    let without = text.replace("%3F", "").replace("%3f", "");
    (without != text).then(|| {
        let mut repaired = sample.clone();
        repaired.request.target.splice(..path.len(), without.into_bytes());
        repaired
    })
}

/// Line ends within the fields (not the files) of a multipart body.
fn line_ends_in_fields(sample: &Sample) -> Option<Sample> {
    let content_type = String::from_utf8_lossy(header(sample, "content-type")).into_owned();
    let boundary = content_type.split_once("boundary=")?.1.trim_matches('"').split(';').next()?.to_owned();
    let delimiter = format!("--{boundary}").into_bytes();
    let parts = split(&sample.request.body, &delimiter);
    let parts: Vec<Vec<u8>> = parts.iter().map(|part| without_line_ends(part)).collect();
    let mut repaired = sample.clone();
    repaired.request.body = parts.join(&delimiter[..]);
    (repaired.request != sample.request).then_some(repaired)
}

fn without_line_ends(part: &[u8]) -> Vec<u8> {
    let Some(end) = part.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4) else {
        return part.to_vec();
    };
    let (head, content) = part.split_at(end);
    let is_file = String::from_utf8_lossy(head).to_ascii_lowercase().contains("filename=");
    let Some(content) = content.strip_suffix(b"\r\n").filter(|_| !is_file) else { return part.to_vec() };
    let kept = String::from_utf8_lossy(content).contains('\n');
    if !kept {
        return part.to_vec();
    }
    let lines: Vec<&[u8]> =
        content.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
    [head, &lines.concat(), b"\r\n"].concat()
}

fn split<'a>(text: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(mark.len()).position(|window| window == mark) {
        parts.push(&rest[..at]);
        rest = &rest[at + mark.len()..];
    }
    parts.push(rest);
    parts
}

/// `http://host/path` as `/path`.
fn absolute_target(sample: &Sample) -> Option<Sample> {
    let target = std::str::from_utf8(&sample.request.target).ok()?;
    let (_, rest) =
        target.split_once("://").filter(|(scheme, _)| scheme.bytes().all(|byte| byte.is_ascii_alphabetic()))?;
    let mut repaired = sample.clone();
    repaired.request.target = format!("/{}", rest.split_once('/').map_or("", |(_, path)| path)).into_bytes();
    Some(repaired)
}

/// The byte A0, which some take for a blank, raw and in the encodings that rules undo.
fn no_break_spaces(sample: &Sample) -> Option<Sample> {
    const FORMS: [&[u8]; 11] =
        [b"\xa0", b"%a0", b"%A0", b"&nbsp;", b"\\xa0", b"\\u00a0", b"%u00a0", b"&#160;", b"&#xa0;", b"\\a0 ", b"%25A0"];
    replacing(sample, &FORMS, b" ")
}

/// NUL bytes, raw and in the encodings that rules undo.
fn nulls(sample: &Sample) -> Option<Sample> {
    const FORMS: [&[u8]; 11] = [
        b"\0",
        b"%00",
        b"%2500",
        b"%u0000",
        b"%25u0000",
        b"\\u0000",
        b"&#0;",
        b"&#x0;",
        b"\\0 ",
        b"&%23x0;",
        b"&%230;",
    ];
    replacing(sample, &FORMS, b"")
}

fn replacing(sample: &Sample, forms: &[&[u8]], with: &[u8]) -> Option<Sample> {
    let mut repaired = sample.clone();
    let RequestBuf { target, headers, body, .. } = &mut repaired.request;
    let in_target = if with == b" " { &b"%20"[..] } else { with };
    let texts = headers.iter_mut().map(|(_, value)| (value, with)).chain([(target, in_target), (body, with)]);
    for (text, with) in texts {
        for form in forms {
            *text = split(text, form).join(with);
        }
    }
    (repaired.request != sample.request).then_some(repaired)
}

/// Bytes that are no UTF-8, overlong sequences among them, raw or percent-encoded.
fn has_foreign_utf8(sample: &Sample) -> bool {
    let RequestBuf { target, headers, body, .. } = &sample.request;
    let texts = headers.iter().map(|(_, value)| value).chain([target, body]);
    texts.into_iter().any(|text| {
        let decoded = super::payloads::decode(text);
        std::str::from_utf8(&decoded).is_err()
    })
}

pub(crate) const ROWS: &[Row] = &[
    Row {
        class: "empty body",
        applies: |d| matches!(d.rule, 200_002 | 200_003) && !d.ours && d.sample.request.body.is_empty(),
    },
    Row {
        class: "chain logged too early",
        applies: |d| !d.ours && d.facts.is_some_and(|facts| facts.chained && facts.multi_match),
    },
    Row {
        class: "line end in part headers",
        applies: |d| d.rule == 922_110 && !d.ours && has_type(d.sample, "multipart"),
    },
    Row { class: "multipart error", applies: |d| d.body_error && has_type(d.sample, "multipart") },
    Row {
        class: "phrase missed",
        applies: |d| d.ours && d.facts.is_some_and(|facts| facts.operators.iter().any(|name| name.starts_with("pm"))),
    },
    Row { class: "not UTF-8 in utf8toUnicode", applies: |d| uses(d, "utf8tounicode") && has_foreign_utf8(d.sample) },
    Row { class: "base64", applies: |d| uses(d, "base64decode") },
    Row { class: "libinjection", applies: |d| matches!(d.rule, 941_100 | 941_101 | 942_100 | 942_101) },
];

fn uses(difference: &Difference<'_>, transformation: &str) -> bool {
    difference.facts.is_some_and(|facts| facts.transformations.contains(transformation))
}
