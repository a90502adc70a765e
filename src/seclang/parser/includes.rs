//! `Include` and `IncludeOptional`: which files, and when enough is enough.
//!
//! Paths are relative to the including file. Does not know the file system: the loader reads and lists.

use super::{Parser, Words};
use crate::seclang::diag::Diagnostic;
use crate::seclang::lexer::Text;
use crate::seclang::source::resolve;

/// How deep includes may be nested.
const MAX_DEPTH: usize = 100;
/// How many files may be read in total; two files that include each other under ever new names would not end otherwise.
const MAX_FILES: usize = 10_000;

/// What to say when nothing is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Absent {
    /// `Include`: a plain path is an error, a pattern a warning.
    Reported,
    /// `IncludeOptional`.
    Fine,
}

/// The files being read, the entry first, in a form in which they can be compared.
#[derive(Clone, Default, Debug)]
pub(super) struct Stack {
    open: Vec<String>,
    read: usize,
}

impl Stack {
    /// A file is being read.
    pub(super) fn enter(&mut self, path: &str) {
        self.open.push(normal(path));
        self.read += 1;
    }

    /// The innermost file is done.
    pub(super) fn leave(&mut self) {
        self.open.pop();
    }

    /// Why a file may not be read here.
    fn refusal(&self, path: &str) -> Option<(String, &'static str)> {
        if self.open.contains(&normal(path)) {
            return Some((format!("`{path}` includes itself"), "remove one include of the circle"));
        }
        if self.open.len() > MAX_DEPTH {
            let message = format!("includes are nested more than {MAX_DEPTH} deep");
            return Some((message, "include the files from one place"));
        }
        (self.read >= MAX_FILES)
            .then(|| (format!("more than {MAX_FILES} files are included"), "include each file once"))
    }
}

impl Parser<'_> {
    pub(super) fn include(&mut self, words: &Words<'_>, from: &str, absent: Absent) {
        let Some(argument) = words.text(0) else { return };
        let Ok(written) = std::str::from_utf8(argument.bytes) else {
            let message = format!("the path `{}` is not UTF-8", argument.shown());
            return self.report(Diagnostic::error(argument.span(), message).with_help("rename the file"));
        };
        let path = resolve(from, written);
        if is_pattern(&path) || absent == Absent::Fine {
            return self.include_all(argument, &path, absent);
        }
        self.include_one(argument, &path);
    }

    fn include_all(&mut self, argument: Text<'_>, pattern: &str, absent: Absent) {
        match self.loader.glob(pattern) {
            Ok(paths) if paths.is_empty() && absent == Absent::Reported => self.report(
                Diagnostic::warning(argument.span(), format!("no file matches `{pattern}`"))
                    .with_help("write `IncludeOptional` if that is fine"),
            ),
            Ok(paths) => paths.iter().for_each(|path| self.include_one(argument, path)),
            Err(reason) => {
                self.report(Diagnostic::error(argument.span(), format!("cannot list `{pattern}`: {reason}")));
            }
        }
    }

    fn include_one(&mut self, argument: Text<'_>, path: &str) {
        if let Some((message, help)) = self.includes.refusal(path) {
            return self.report(Diagnostic::error(argument.span(), message).with_help(help));
        }
        match self.loader.read(path) {
            Ok(text) => self.file(path, text),
            Err(reason) => self.report(
                Diagnostic::error(argument.span(), format!("cannot read `{path}`: {reason}"))
                    .with_help("paths are relative to the file that includes them"),
            ),
        }
    }
}

fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

/// The path without `.` and, as far as the text tells, without `..`.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            "" if !parts.is_empty() => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, ".." | "")) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
