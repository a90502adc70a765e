//! Stages: `input` and `output`, whose fields the two schemas share but for a few.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;

use super::yaml::{Fields, Node, Reader};
use super::{Completion, Expected, Input, Message, Stage, request};

/// Reads a test's list of stages with `read_one`; a test without stages would pass unseen, so it is refused.
pub(super) fn read_all(
    list: Option<&Node>,
    test: &Node,
    reader: &mut Reader<'_>,
    mut read_one: impl FnMut(&Node, &mut Reader<'_>) -> Option<Stage>,
) -> Vec<Stage> {
    let nodes = list.map(|list| reader.list(list, "`stages`")).unwrap_or_default();
    if nodes.is_empty() {
        reader.error(test.line, "a test needs at least one stage");
    }
    nodes.iter().filter_map(|node| read_one(node, reader)).collect()
}

/// Reads one stage; `completion` is what the runner of this schema adds unless told not to.
pub(super) fn read(node: &Node, completion: Completion, reader: &mut Reader<'_>) -> Option<Stage> {
    let mut fields = reader.fields(node, "the stage");
    fields.ignore(&["description", "desc"]);
    let input = fields.take("input");
    let output = fields.take("output");
    fields.finish(reader);
    let (Some(input), Some(output)) = (input, output) else {
        reader.error(node.line, "a stage needs `input` and `output`");
        return None;
    };
    let mut skip = None;
    let input = read_input(input, completion, reader, &mut skip)?;
    let expected = read_output(output, reader, &mut skip);
    if expected.is_empty() {
        skip.get_or_insert_with(|| "expects nothing that could fail".to_owned());
    }
    Some(Stage { input, expected, skip })
}

/// Fields that only make sense with a server at the other end.
const NEEDS_SERVER: [&str; 6] =
    ["follow_redirect", "save_cookie", "uris", "response", "response_contains", "html_contains"];

fn skip_if_server_needed(fields: &Fields<'_>, skip: &mut Option<String>) {
    if let Some(name) = NEEDS_SERVER.iter().find(|name| fields.has(name)) {
        skip.get_or_insert_with(|| format!("`{name}` needs a server behind the rules"));
    }
}

fn read_input(
    node: &Node,
    completion: Completion,
    reader: &mut Reader<'_>,
    skip: &mut Option<String>,
) -> Option<Input> {
    let mut fields = reader.fields(node, "`input`");
    skip_if_server_needed(&fields, skip);
    fields.ignore(&NEEDS_SERVER);
    fields.ignore(&["dest_addr", "port", "protocol", "virtual_host_mode"]);
    let text = |fields: &mut Fields<'_>, reader: &mut Reader<'_>, name: &str| {
        fields.take(name).and_then(|node| reader.text(node, name)).map(str::to_owned)
    };
    let encoded = fields.take("encoded_request").and_then(|node| base64_bytes(node, reader, "encoded_request"));
    let raw = text(&mut fields, reader, "raw_request").map(String::into_bytes);
    let message = Message {
        method: text(&mut fields, reader, "method").unwrap_or_else(|| "GET".to_owned()),
        uri: text(&mut fields, reader, "uri").unwrap_or_else(|| "/".to_owned()),
        version: text(&mut fields, reader, "version").unwrap_or_else(|| "HTTP/1.1".to_owned()),
        headers: headers(&mut fields, reader),
        data: data(&mut fields, reader),
        completion: if is_completed(&mut fields, reader) { completion } else { Completion::Off },
    };
    fields.finish(reader);
    if message.uri.starts_with("/reflect") {
        skip.get_or_insert_with(|| {
            "response phase: the test backend's /reflect answers with what the rules read".to_owned()
        });
    }
    Some(match encoded.or(raw) {
        Some(bytes) => Input::Raw(bytes),
        None => Input::Message(message),
    })
}

fn base64_bytes(node: &Node, reader: &mut Reader<'_>, what: &str) -> Option<Vec<u8>> {
    // Long values are folded over several lines.
    let text: String = reader.text(node, what)?.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(text).ok();
    if bytes.is_none() {
        reader.error(node.line, format!("{what} is not base64"));
    }
    bytes
}

/// `headers`, a map, is sent sorted by name, as the CRS runner does; `ordered_headers` as written.
fn headers(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    if let Some(node) = fields.take("headers") {
        let map = reader.fields(node, "`headers`");
        for (name, value) in map.into_entries() {
            headers.push((name.to_owned(), reader.text(value, name).unwrap_or_default().to_owned()));
        }
        headers.sort();
    }
    for node in fields.take("ordered_headers").map(|node| reader.list(node, "`ordered_headers`")).unwrap_or_default() {
        let mut header = reader.fields(node, "a header");
        let name = header.take("name").and_then(|node| reader.text(node, "name")).unwrap_or_default();
        let value = header.take("value").and_then(|node| reader.text(node, "value")).unwrap_or_default();
        header.finish(reader);
        headers.push((name.to_owned(), value.to_owned()));
    }
    headers
}

fn data(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> Vec<u8> {
    let encoded = fields.take("encoded_data").and_then(|node| base64_bytes(node, reader, "encoded_data"));
    let plain = fields.take("data").and_then(|node| reader.text(node, "data")).map(request::expand_repeats);
    plain.or(encoded).unwrap_or_default()
}

/// `stop_magic` is the older, inverse name of `autocomplete_headers`.
fn is_completed(fields: &mut Fields<'_>, reader: &mut Reader<'_>) -> bool {
    let stop = fields.take("stop_magic").and_then(|node| reader.flag(node, "stop_magic"));
    let complete = fields.take("autocomplete_headers").and_then(|node| reader.flag(node, "autocomplete_headers"));
    complete.or(stop.map(|stop| !stop)).unwrap_or(true)
}

/// Reads an `output`, also that of an override.
pub(super) fn read_output(node: &Node, reader: &mut Reader<'_>, skip: &mut Option<String>) -> Expected {
    let mut fields = reader.fields(node, "`output`");
    skip_if_server_needed(&fields, skip);
    fields.ignore(&NEEDS_SERVER);
    fields.ignore(&["retry_once"]);
    let mut expected = Expected {
        status: fields.take("status").map(|node| reader.numbers(node, "status")).unwrap_or_default(),
        expect_error: fields.take("expect_error").and_then(|node| reader.flag(node, "expect_error")).unwrap_or(false),
        isolated: fields.take("isolated").and_then(|node| reader.flag(node, "isolated")).unwrap_or(false),
        match_regex: pattern(&mut fields, reader, "log_contains"),
        no_match_regex: pattern(&mut fields, reader, "no_log_contains"),
        ..Expected::default()
    };
    if let Some(node) = fields.take("log") {
        let mut log = reader.fields(node, "`log`");
        expected.expect_ids = log.take("expect_ids").map(|n| reader.numbers(n, "expect_ids")).unwrap_or_default();
        expected.no_expect_ids =
            log.take("no_expect_ids").map(|n| reader.numbers(n, "no_expect_ids")).unwrap_or_default();
        expected.match_regex = pattern(&mut log, reader, "match_regex").or(expected.match_regex);
        expected.no_match_regex = pattern(&mut log, reader, "no_match_regex").or(expected.no_match_regex);
        log.finish(reader);
    }
    fields.finish(reader);
    expected
}

fn pattern(fields: &mut Fields<'_>, reader: &mut Reader<'_>, what: &str) -> Option<Regex> {
    let node = fields.take(what)?;
    let text = reader.text(node, what)?;
    let pattern = Regex::new(text).ok();
    if pattern.is_none() {
        reader.error(node.line, format!("{what}: `{text}` is not a regular expression"));
    }
    pattern
}
