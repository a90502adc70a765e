//! Values to compare: what the CRS tests send, what the C project tests, and every word of SQL in a few surroundings.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A folder or file of third-party inputs; `None`, said loudly, where it is not there.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("PORTCULLIS_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    println!("SKIPPED: {} is not there", path.display());
    None
}

/// Honest values: those in the queries, forms and headers of the benign requests.
pub(crate) fn honest() -> Vec<Vec<u8>> {
    let Some(path) = shared("corpus/benign.jsonl") else { return Vec::new() };
    let mut values = Vec::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let request: serde_json::Value = serde_json::from_str(line).unwrap();
        let uri = request["uri"].as_str().unwrap_or_default();
        let pairs = uri.split_once('?').map_or("", |(_, query)| query).split('&').filter(|pair| !pair.is_empty());
        values.extend(pairs.flat_map(|pair| pair.split('=')).map(|text| decoded(text.as_bytes())));
        let headers = request["headers"].as_array().into_iter().flatten();
        values.extend(headers.filter_map(|header| Some(header[1].as_str()?.as_bytes().to_vec())));
    }
    values
}

/// Values of attacks: those of the CRS tests of SQL injection and cross-site scripting.
pub(crate) fn attacks() -> Vec<Vec<u8>> {
    let tests = "crs/4.28.0/tests/regression/tests";
    let folders = ["REQUEST-941-APPLICATION-ATTACK-XSS", "REQUEST-942-APPLICATION-ATTACK-SQLI"];
    folders.iter().filter_map(|folder| shared(&format!("{tests}/{folder}"))).flat_map(|folder| crs(&folder)).collect()
}

/// The corpora that are there, by name.
pub(crate) fn read() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let corpora = [
        ("CRS tests", shared("crs").map(|folder| crs(&folder))),
        ("C project's inputs", shared("vectors/libinjection/data").map(|folder| lines_of(&folder))),
        ("C project's tests", shared("vectors/libinjection/tests").map(|folder| inputs_of(&folder))),
        ("words of SQL", Some(words())),
        ("names of HTML", Some(names())),
    ];
    corpora.into_iter().filter_map(|(name, values)| Some((name, values?))).collect()
}

fn files(folder: &Path, ends: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => found.extend(files(&path, ends)),
            false if path.to_string_lossy().ends_with(ends) => found.push(std::fs::read(&path).unwrap()),
            false => {}
        }
    }
    found
}

/// The texts of the CRS tests, whole and cut at the marks of a query or form, as written and decoded. A line of YAML is
/// enough of a text here: any value will do for a comparison.
fn crs(folder: &Path) -> Vec<Vec<u8>> {
    let mut values = BTreeSet::new();
    for file in files(folder, ".yaml") {
        for line in file.split(|byte| *byte == b'\n') {
            let text = line.trim_ascii();
            let text = memchr::memmem::find(text, b": ").map_or(text, |colon| &text[colon + 2..]);
            let text = unquoted(text);
            for piece in text.split(|byte| matches!(byte, b'&' | b'?')).chain([text]) {
                let value = memchr::memchr(b'=', piece).map_or(piece, |equals| &piece[equals + 1..]);
                values.extend([piece.to_vec(), value.to_vec(), decoded(piece), decoded(value)]);
            }
        }
    }
    values.into_iter().collect()
}

fn unquoted(text: &[u8]) -> &[u8] {
    match text {
        [b'"', inner @ .., b'"'] | [b'\'', inner @ .., b'\''] => inner,
        other => other,
    }
}

/// A line an input, URL-encoded; `#` begins a comment.
fn lines_of(folder: &Path) -> Vec<Vec<u8>> {
    let files = files(folder, ".txt");
    let lines = files.iter().flat_map(|file| file.split(|byte| *byte == b'\n'));
    lines
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
        .flat_map(|line| [line.to_vec(), decoded(line)])
        .collect()
}

fn inputs_of(folder: &Path) -> Vec<Vec<u8>> {
    let input = |file: &Vec<u8>| {
        let start = memchr::memmem::find(file, b"--INPUT--\n")? + 10;
        let end = memchr::memmem::find(file, b"\n--EXPECTED--")?;
        Some(file.get(start..end)?.to_vec())
    };
    files(folder, ".txt").iter().filter_map(input).collect()
}

/// Every word of SQL, so that the table is compared as well: before and after a number, called, merged with others.
fn words() -> Vec<Vec<u8>> {
    let mut values = Vec::new();
    for word in sql_words() {
        for (before, after) in
            [("1 ", " 1"), ("' ", "('"), ("", "(1)"), ("1 union ", " x"), ("x=", ".y--"), ("`", "`("), ("", "")]
        {
            values.push(format!("{before}{word}{after}").into_bytes());
            values.push(format!("{before}{}{after} or 1=1", word.to_lowercase()).into_bytes());
        }
    }
    values
}

/// Our own list; that it is the C library's is checked against the C project's data, too.
pub(crate) fn sql_words() -> Vec<&'static str> {
    let file = include_str!("../../src/vocab/operators/injection/data/words.txt");
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(|line| line[2..].split('|')).collect()
}

/// What is a name to HTML, as a tag and as an attribute with values of several kinds.
pub(crate) const HTML_NAMES: &str = "applet audio base comment embed form frame frameset handler iframe import isindex link \
    listener marquee meta noscript object script style video vmlframe xml xss svg xsl xslt a img div b action attributename \
    by background dataformatas datasrc dynsrc filter formaction folder from href lowsrc poster src to values xlink:href \
    xmlns xmlnsx xlink onload onerror onfocus onx onclick";

/// The events of the C project's table, without `on`; none where it is not there.
pub(crate) fn events() -> Vec<String> {
    let Some(path) = shared("vectors/libinjection/xss_tables.json") else { return Vec::new() };
    let tables: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let events = tables["event_handlers"].as_array().unwrap();
    events.iter().map(|event| event.as_str().unwrap().to_owned()).collect()
}

fn names() -> Vec<Vec<u8>> {
    let mut values = Vec::new();
    for name in HTML_NAMES.split_ascii_whitespace() {
        let spelt = [name.to_owned(), name.to_uppercase(), format!("{name}x"), name[..name.len() - 1].to_owned()];
        for name in spelt.into_iter().chain([format!("{}\0{}", &name[..1], &name[1..])]) {
            for value in ["1", "javascript:x", "onload", "'data:x'", "\"&#106;ava:\"", "` view-source:`", ""] {
                values.push(format!("<x {name}={value}>").into_bytes());
                values.push(format!("\" {name} = {value}").into_bytes());
            }
            values.extend(["<", "</", "<!", "<?", "x' <"].map(|before| format!("{before}{name}>").into_bytes()));
            values.push(format!("<{name} y").into_bytes());
        }
    }
    values
}

/// Without URL encoding; what is no encoding stays.
pub(crate) fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let mut value = Vec::new();
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        match (first, tail) {
            (b'+', _) => value.push(b' '),
            (b'%', [high, low, after @ ..]) if digit(high).is_some() && digit(low).is_some() => {
                value.push(u8::try_from(digit(high).unwrap() * 16 + digit(low).unwrap()).unwrap());
                rest = after;
            }
            _ => value.push(*first),
        }
    }
    value
}
