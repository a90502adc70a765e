//! Vectors of operators and transformations: both third-party origins, read in place, and our own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use portcullis::vocab::operators::{BuildContext, BuildError, Captures, OPERATORS, OperatorEntry, OperatorKind, find};
use portcullis::vocab::transformations::{
    TRANSFORMATIONS, Transformation, TransformationContext, UnicodeMap, find as find_transformation,
};
use serde_json::Value;

use crate::{counted, shared};

/// What became of the cases of a suite.
#[derive(Default)]
struct Tally {
    ran: usize,
    skipped: usize,
    failures: Vec<String>,
}

impl Tally {
    fn finish(self, suite: &str, total: usize) {
        let passed = self.ran - self.failures.len();
        counted::say(suite, self.ran + self.skipped, passed, self.skipped, 0);
        assert!(self.failures.is_empty(), "{} failures:\n{}", self.failures.len(), self.failures.join("\n"));
        assert_eq!(self.ran + self.skipped, total, "{suite}: cases were lost or added");
    }
}

/// `tests/vectors/skips.json`: cases not to be met, with the reason. One that is met all the same is a failure.
struct Skips(Vec<Skip>);

struct Skip {
    file: String,
    cases: Vec<usize>,
}

impl Skips {
    fn read() -> Self {
        let list = read_cases(&own("skips.json"));
        Self(list.iter().map(Skip::read).collect())
    }

    fn contains(&self, file: &str, case: usize) -> bool {
        self.0.iter().any(|skip| skip.file == file && skip.cases.contains(&case))
    }
}

impl Skip {
    fn read(entry: &Value) -> Self {
        only_known_keys(entry, &["file", "cases", "reason"]);
        assert!(text(entry, "reason").len() > 20, "a skip needs a reason: {entry}");
        let cases = entry["cases"].as_array().expect("`cases` is a list of numbers");
        Self {
            file: text(entry, "file").to_owned(),
            cases: cases.iter().map(|case| case.as_u64().expect("a number") as usize).collect(),
        }
    }
}

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(path)
}

fn read_cases(path: &Path) -> Vec<Value> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn only_known_keys(case: &Value, known: &[&str]) {
    for key in case.as_object().expect("an object").keys() {
        assert!(known.contains(&key.as_str()), "unknown key `{key}` in {case}");
    }
}

fn text<'c>(case: &'c Value, key: &str) -> &'c str {
    case[key].as_str().unwrap_or_else(|| panic!("no text `{key}` in {case}"))
}

/// The files of a folder, with their names relative to `shared/vectors`.
fn files(root: &Path, folder: &str) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(root.join(folder)).expect("a folder of vectors");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .map(|path| (format!("{folder}/{}", path.file_name().unwrap_or_default().to_string_lossy()), path))
        .collect();
    files.sort();
    files
}

/// The second layer of escapes in third-party texts: `\xHH` and `\uHHHH` are one byte each.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let digits = match rest {
            [b'\\', b'x', digits @ ..] => digits.get(..2),
            [b'\\', b'u', digits @ ..] => digits.get(..4),
            _ => None,
        };
        let number = digits
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match (number, digits) {
            (Some(number), Some(digits)) => {
                bytes.push(number as u8);
                rest = &rest[2 + digits.len()..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

/// In our own files every character is the byte of the same number.
fn latin(text: &str) -> Vec<u8> {
    text.chars().map(|character| u8::try_from(character).expect("a character up to U+00FF")).collect()
}

/// Third-party spellings of names.
fn plain_name(name: &str) -> &str {
    match name {
        "cmd_line" => "cmdLine",
        _ => name.split_once("-test").map_or(name, |(name, _)| name),
    }
}

fn transform(entry: &Transformation, input: &[u8], context: &TransformationContext) -> Result<Vec<u8>, String> {
    let mut output = Vec::new();
    if !(entry.apply)(input, &mut output, context) {
        return Ok(input.to_vec());
    }
    if output == input {
        return Err("says that the value changed, but it did not".into());
    }
    Ok(output)
}

fn with_code_page() -> TransformationContext {
    TransformationContext { unicode_map: Some(Arc::new(UnicodeMap::code_page_20127())) }
}

fn transformation_case(case: &Value, context: &TransformationContext) -> Result<(), String> {
    let name = text(case, "name");
    let place = find_transformation(plain_name(name)).ok_or_else(|| format!("`{name}` is not known"))?;
    let output = transform(&TRANSFORMATIONS[place], &unescape(text(case, "input")), context)?;
    let expected = unescape(text(case, "output"));
    equal("output", &output, &expected)
}

fn equal(what: &str, found: &[u8], expected: &[u8]) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what} `{}`, expected `{}`", found.escape_ascii(), expected.escape_ascii()))
}

/// Data files from a folder of vectors, or one given text.
enum Files<'f> {
    Folder(&'f Path),
    Text(Option<Vec<u8>>),
}

impl BuildContext for Files<'_> {
    fn data_file(&mut self, name: &str) -> Result<Vec<u8>, String> {
        match self {
            Self::Folder(folder) => {
                let base = Path::new(name).file_name().ok_or("no file name")?;
                std::fs::read(folder.join("op").join(base)).map_err(|error| error.to_string())
            }
            Self::Text(text) => text.clone().ok_or_else(|| "the case gives no file".to_owned()),
        }
    }

    fn match_limit(&self) -> usize {
        100_000
    }
}

/// Whether the operator matches, and what it captures.
fn judge(
    entry: &OperatorEntry,
    argument: &[u8],
    value: &[u8],
    files: &mut Files<'_>,
) -> Result<(bool, Captures), BuildError> {
    let mut captures = Captures::default();
    let matched = match entry.kind {
        OperatorKind::Compare(compare) => compare(argument, value),
        OperatorKind::Inert(_) => false,
        OperatorKind::Build(build) => {
            let matcher = build(argument, files)?;
            let matched = matcher.is_match(value, Some(&mut captures)).expect("no step limit");
            assert_eq!(matcher.is_match(value, None), Ok(matched), "asking for captures changed the result");
            matched
        }
    };
    Ok((matched, captures))
}

fn operator_case(case: &Value, folder: &Path) -> Result<(), String> {
    only_known_keys(case, &["type", "name", "input", "param", "ret", "re_groups", "resource", "comment"]);
    let name = text(case, "name");
    let entry = find(name).ok_or_else(|| format!("`{name}` is not known"))?;
    let argument = case["param"].as_str().unwrap_or_default().as_bytes();
    let value = unescape(text(case, "input"));
    let (matched, captures) =
        judge(entry, argument, &value, &mut Files::Folder(folder)).map_err(|error| error.message)?;
    if matched != (case["ret"] == 1) {
        return Err(format!("matched: {matched}, expected {}", case["ret"]));
    }
    match case["re_groups"].as_array() {
        Some(groups) => compare_captures(&captures, &groups.iter().map(bytes_of).collect::<Vec<_>>()),
        None => Ok(()),
    }
}

fn bytes_of(text: &Value) -> Vec<u8> {
    text.as_str().expect("a text").as_bytes().to_vec()
}

fn compare_captures(captures: &Captures, expected: &[Vec<u8>]) -> Result<(), String> {
    let found: Vec<_> = captures.iter().map(<[u8]>::to_vec).collect();
    if found == expected { Ok(()) } else { Err(format!("captures {found:?}, expected {expected:?}")) }
}

/// Runs every case of the files through `check`, minding the skips.
fn run(files: &[(String, PathBuf)], skips: &Skips, mut check: impl FnMut(&Value) -> Result<(), String>) -> Tally {
    let mut tally = Tally::default();
    for (file, path) in files {
        for (number, case) in read_cases(path).iter().enumerate() {
            let result = check(case);
            match (skips.contains(file, number), result) {
                (true, Err(_)) => tally.skipped += 1,
                (true, Ok(())) => tally.failures.push(format!("{file} {number}: is on the skip list, but passes")),
                (false, result) => {
                    tally.ran += 1;
                    tally.failures.extend(result.err().map(|message| format!("{file} {number}: {message}; {case}")));
                }
            }
        }
    }
    tally
}

fn third_party_transformations(origin: &str, total: usize, context: &TransformationContext) {
    let Some(root) = shared::folder("vectors") else { return };
    let files = files(&root, &format!("transformations/{origin}"));
    run(&files, &Skips::read(), |case| transformation_case(case, context))
        .finish(&format!("transformations, {origin}"), total);
}

#[test]
fn transformations_of_the_language_tests() {
    third_party_transformations("secrules-language-tests", 376, &TransformationContext::default());
}

#[test]
fn transformations_of_coraza() {
    // Its cases of urlDecodeUni were made with the map of code page 20127.
    third_party_transformations("coraza", 146, &with_code_page());
}

fn third_party_operators(origin: &str, total: usize) {
    let Some(root) = shared::folder("vectors") else { return };
    let folder = format!("operators/{origin}");
    let files = files(&root, &folder);
    run(&files, &Skips::read(), |case| operator_case(case, &root.join(&folder)))
        .finish(&format!("operators, {origin}"), total);
}

#[test]
fn operators_of_the_language_tests() {
    third_party_operators("secrules-language-tests", 3_955);
}

#[test]
fn operators_of_coraza() {
    third_party_operators("coraza", 3_723);
}

/// The cases of our own file of a row; every row has one, and nothing else lies there.
fn own_cases(kind: &str, names: &[&str]) -> BTreeMap<String, Vec<Value>> {
    let root = own("");
    let cases: BTreeMap<_, _> =
        names.iter().map(|name| ((*name).to_owned(), read_cases(&own(&format!("{kind}/{name}.json"))))).collect();
    assert_eq!(files(&root, kind).len(), names.len(), "a file of {kind} belongs to no row");
    assert!(cases.values().all(|list| !list.is_empty()), "an empty file of {kind}");
    cases
}

#[test]
fn transformations_have_vectors_of_our_own() {
    let names: Vec<_> = TRANSFORMATIONS.iter().map(|entry| entry.name).collect();
    let mut tally = Tally::default();
    for (name, cases) in own_cases("transformations", &names) {
        let entry = &TRANSFORMATIONS[find_transformation(&name).expect("a row")];
        for case in cases {
            only_known_keys(&case, &["input", "output", "code_page"]);
            let context = match case["code_page"].as_u64() {
                None => TransformationContext::default(),
                Some(20_127) => with_code_page(),
                Some(page) => panic!("there is no built-in code page {page}"),
            };
            let result = transform(entry, &latin(text(&case, "input")), &context)
                .and_then(|output| equal("output", &output, &latin(text(&case, "output"))));
            tally.ran += 1;
            tally.failures.extend(result.err().map(|message| format!("{name}: {message}; {case}")));
        }
    }
    tally.finish("transformations, our own", 291);
}

fn own_operator_case(entry: &OperatorEntry, case: &Value) -> Result<(), String> {
    only_known_keys(case, &["argument", "value", "match", "captures", "file"]);
    let mut file = Files::Text(case["file"].as_str().map(latin));
    let (argument, value) = (latin(text(case, "argument")), latin(text(case, "value")));
    let (matched, captures) = judge(entry, &argument, &value, &mut file).map_err(|error| error.message)?;
    if Some(matched) != case["match"].as_bool() {
        return Err(format!("matched: {matched}"));
    }
    match case["captures"].as_array() {
        Some(texts) => {
            let texts: Vec<_> = texts.iter().map(|text| latin(text.as_str().expect("a text"))).collect();
            compare_captures(&captures, &texts)
        }
        None => Ok(()),
    }
}

#[test]
fn operators_have_vectors_of_our_own() {
    let names: Vec<_> = OPERATORS.iter().map(|entry| entry.name).collect();
    let mut tally = Tally::default();
    for (name, cases) in own_cases("operators", &names) {
        let entry = find(&name).expect("a row");
        for case in cases {
            tally.ran += 1;
            let result = own_operator_case(entry, &case);
            tally.failures.extend(result.err().map(|message| format!("{name}: {message}; {case}")));
        }
    }
    tally.finish("operators, our own", 127);
}

#[test]
fn the_built_in_code_page_is_that_of_the_mapping_file() {
    let Some(folder) = shared::folder("vectors/engine/modsecurity-v3/data") else { return };
    let file = std::fs::read(folder.join("unicode.mapping")).expect("the mapping file");
    assert_eq!(UnicodeMap::parse(&file, 20_127).unwrap(), UnicodeMap::code_page_20127());
    assert_eq!(UnicodeMap::parse(&file, 1_250).unwrap().get(0xa1), Some(b'!'));
}
