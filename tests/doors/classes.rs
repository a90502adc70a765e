//! Reads and writes `classes.txt`: which tests end in which class, so that every change is seen in review.
//!
//! ```text
//! envoy 4.28.0: refused: 400
//!     920100-5 920100-6
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::support::Checked;

/// `PROXY VERSION` to test to class.
#[derive(Default)]
pub(crate) struct Classes {
    by_run: BTreeMap<String, BTreeMap<String, String>>,
}

impl Classes {
    /// Reads the file; a test that stands in two classes of a run is an error.
    pub(crate) fn read(text: &str) -> Checked<Self> {
        let mut classes = Self::default();
        let mut heading = None;
        for (index, line) in text.lines().enumerate() {
            let at = |message: &str| format!("tests/doors/classes.txt:{}: {message}", index + 1);
            match line.as_bytes() {
                [] | [b'#', ..] => {}
                [b' ', ..] => {
                    let (run, class): (&str, &str) = heading.ok_or_else(|| at("tests without a class"))?;
                    let tests = classes.by_run.entry(run.to_owned()).or_default();
                    for test in line.split_whitespace() {
                        if tests.insert(test.to_owned(), class.to_owned()).is_some() {
                            return Err(at(&format!("{test} has a class already")));
                        }
                    }
                }
                _ => heading = Some(line.split_once(": ").ok_or_else(|| at("not `PROXY VERSION: CLASS`"))?),
            }
        }
        Ok(classes)
    }

    /// Test to class of one run.
    pub(crate) fn of(&self, run: &str) -> BTreeMap<&str, &str> {
        let tests = self.by_run.get(run).into_iter().flatten();
        tests.map(|(test, class)| (test.as_str(), class.as_str())).collect()
    }

    /// Puts a run's classes in the place of those known.
    pub(crate) fn replace(&mut self, run: &str, found: &[(String, String)]) {
        self.by_run.insert(run.to_owned(), found.iter().cloned().collect());
    }

    /// The file's text.
    pub(crate) fn write(&self, comment: &str) -> String {
        let mut text = comment.to_owned();
        for (run, tests) in &self.by_run {
            let mut by_class: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            tests.iter().for_each(|(test, class)| by_class.entry(class).or_default().push(test));
            for (class, tests) in by_class {
                let _ = write!(text, "\n{run}: {class}");
                tests.chunks(10).for_each(|line| {
                    let _ = write!(text, "\n    {}", line.join(" "));
                });
                text.push('\n');
            }
        }
        text
    }
}

/// The lines at the top of the file's text.
pub(crate) fn comment(text: &str) -> String {
    text.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}
