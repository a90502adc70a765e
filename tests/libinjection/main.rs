//! `@detectSQLi` and `@detectXSS` against the C library: verdict and fingerprint on attack corpora, on mutations of them
//! and on soups of tokens. A difference that `explain.rs` does not account for fails.
//!
//! ```sh
//! cargo test --no-default-features --features reference --test libinjection -- [--mutations N] [--soups N] [--seed N]
//! cargo test … --release --test libinjection -- time      # nanoseconds a value, ours and C's; nothing is compared
//! ```
//!
//! The corpora are read in place from `../shared` (or `$PORTCULLIS_SHARED`).

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test program: a broken assumption is a failed test"
)]

#[path = "../reference/libinjection.rs"]
mod c;
mod corpus;
mod explain;
mod mutate;
mod time;

use std::process::ExitCode;

use portcullis::vocab::operators::{BuildContext, Captures, Matcher, OperatorKind, find};

/// Our two operators.
pub(crate) struct Ours {
    sqli: Box<dyn Matcher>,
    xss: Box<dyn Matcher>,
}

struct NoFiles;

impl BuildContext for NoFiles {
    fn data_file(&mut self, name: &str) -> Result<Vec<u8>, String> {
        Err(format!("no file `{name}`"))
    }

    fn match_limit(&self) -> usize {
        1_000
    }
}

impl Ours {
    fn new() -> Self {
        let build = |name: &str| match find(name).unwrap().kind {
            OperatorKind::Build(build) => build(b"", &mut NoFiles).unwrap(),
            _ => panic!("@{name} builds nothing"),
        };
        Self { sqli: build("detectSQLi"), xss: build("detectXSS") }
    }

    pub(crate) fn sqli(&self, value: &[u8]) -> Option<Vec<u8>> {
        let mut captures = Captures::default();
        let found = self.sqli.is_match(value, Some(&mut captures)).unwrap();
        found.then(|| captures.iter().next().unwrap().to_vec())
    }

    pub(crate) fn is_sqli(&self, value: &[u8]) -> bool {
        self.sqli.is_match(value, None).unwrap()
    }

    pub(crate) fn xss(&self, value: &[u8]) -> bool {
        self.xss.is_match(value, None).unwrap()
    }
}

/// What was compared, by operator.
#[derive(Default)]
struct Tally {
    compared: usize,
    positive: usize,
    explained: usize,
    unexplained: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.compared += other.compared;
        self.positive += other.positive;
        self.explained += other.explained;
        self.unexplained.extend(other.unexplained);
    }

    fn report(&self, name: &str) {
        let Self { compared, positive, explained, unexplained } = self;
        let open = unexplained.len();
        println!(
            "{name}: {compared} compared, {positive} positive, {explained} explained, {open} unexplained differences"
        );
        for difference in unexplained.iter().take(20) {
            println!("FAILED: {difference}");
        }
    }
}

fn compare(ours: &Ours, values: impl Iterator<Item = Vec<u8>>) -> [Tally; 2] {
    let [mut sqli, mut xss] = [Tally::default(), Tally::default()];
    for value in values {
        let theirs = c::Value::new(&value);
        let (found, expected) = (ours.sqli(&value), theirs.sqli());
        sqli.compared += 1;
        sqli.positive += usize::from(expected.is_some());
        if found != expected {
            let show = |found: Option<Vec<u8>>| found.map(|letters| letters.escape_ascii().to_string());
            let (found, expected) = (show(found), show(expected));
            sqli.unexplained.push(format!("{}: {found:?}, C {expected:?}", value.escape_ascii()));
        }
        let (found, expected) = (ours.xss(&value), theirs.xss());
        xss.compared += 1;
        xss.positive += usize::from(expected);
        if found != expected {
            match explain::is_explained(ours, &value, found) {
                true => xss.explained += 1,
                false => xss.unexplained.push(format!("{}: {found}, C {expected}", value.escape_ascii())),
            }
        }
    }
    [sqli, xss]
}

/// How much to compare.
struct Options {
    mutations: usize,
    soups: usize,
    seed: u64,
}

fn options() -> Result<Options, String> {
    let mut options = Options { mutations: 1_000_000, soups: 500_000, seed: 85 };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().and_then(|value| value.replace(['_', ','], "").parse::<u64>().ok());
        let value = value.ok_or(format!("{name} needs a number"))?;
        match name.as_str() {
            "--mutations" => options.mutations = usize::try_from(value).unwrap(),
            "--soups" => options.soups = usize::try_from(value).unwrap(),
            "--seed" => options.seed = value,
            _ => return Err(format!("{name} is not known; there are --mutations, --soups, --seed and time")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let ours = Ours::new();
    if std::env::args().nth(1).as_deref() == Some("time") {
        time::run(&ours);
        return ExitCode::SUCCESS;
    }
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            println!("{message}");
            return ExitCode::from(2);
        }
    };
    println!("libinjection {}, seed {}", c::version(), options.seed);
    run(&ours, &options)
}

fn run(ours: &Ours, options: &Options) -> ExitCode {
    let corpora = corpus::read();
    let all: Vec<Vec<u8>> = corpora.iter().flat_map(|(_, values)| values.iter().cloned()).collect();
    let mutations = mutate::mutations(&all, options.seed).take(options.mutations);
    let soups = mutate::soups(options.seed).take(options.soups);

    let mut groups: Vec<(String, [Tally; 2])> = Vec::new();
    for (name, values) in &corpora {
        groups.push(((*name).to_owned(), compare(ours, values.iter().cloned())));
    }
    groups.push(("mutations".to_owned(), compare(ours, mutations)));
    groups.push(("token soups".to_owned(), compare(ours, soups)));
    groups.push(("gate of SQL".to_owned(), compare(ours, mutate::word_characters(options.seed).take(options.soups))));
    groups.push(("gate of HTML".to_owned(), compare(ours, mutate::without_markup(options.seed).take(options.soups))));
    groups.push(("known differences".to_owned(), explain::known(ours)));

    let mut total = Tally::default();
    for (name, tallies) in groups {
        for (operator, tally) in ["@detectSQLi", "@detectXSS"].into_iter().zip(tallies) {
            if tally.compared > 0 {
                tally.report(&format!("{name}, {operator}"));
            }
            total.add(tally);
        }
    }
    let differences = total.explained + total.unexplained.len();
    println!("libinjection: {} compared, {differences} differences, {} explained", total.compared, total.explained);
    ExitCode::from(u8::from(!total.unexplained.is_empty()))
}
