//! How a file's backslashes are read.
//!
//! CRS 3.x is written for `ModSecurity` 2 in Apache, which reads two backslashes of its configuration as one. Its
//! patterns therefore hold four where one is meant: `\\\\u006C` of rule 941330 is to find `\u006C`. `ModSecurity` 3 and
//! Coraza keep all four, and these rules find nothing there (the CRS's own tests 920460-1 and 941330-1 fail). Followed
//! is `ModSecurity` 2: in the operators of such files, four are two. Two stay two also there: where CRS 3.x writes two
//! it means one, as in `[\\/]` of rule 930110, which Apache turns into `[\/]`, blind to `..\`.
//!
//! Decided for each file by what it says of itself, so that in a user's own file, also one that includes or is included
//! by files of CRS 3.x, every backslash stays.

use super::super::lexer::is_blank;

/// What four backslashes in a row mean in an operator.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Backslashes {
    /// Four.
    #[default]
    Kept,
    /// Two, as in `ModSecurity` 2.
    Halved,
}

/// What the files of CRS 3.x name in `ver:` or `SecComponentSignature`.
const VERSION: &[u8] = b"OWASP_CRS/3.";

impl Backslashes {
    /// The reading that a file asks for.
    pub(super) fn of(text: &[u8]) -> Self {
        let names = |at: usize| text.get(..at).is_some_and(names_version);
        if memchr::memmem::find_iter(text, VERSION).any(names) { Self::Halved } else { Self::Kept }
    }
}

/// Whether what stands before the version makes it that of the file's rules; a comment does not.
fn names_version(before: &[u8]) -> bool {
    let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    let line = before.get(start..).unwrap_or_default().trim_ascii_start();
    let opening = |byte: &u8| is_blank(*byte) || matches!(*byte, b'\'' | b'"');
    let end = line.iter().rposition(|byte| !opening(byte)).map_or(0, |last| last + 1);
    let (word, _) = line.split_at_checked(end).unwrap_or_default();
    let ver = word.len().checked_sub(4).and_then(|at| word.split_at_checked(at));
    let is_ver = ver.is_some_and(|(head, tail)| {
        tail.eq_ignore_ascii_case(b"ver:") && !head.last().is_some_and(u8::is_ascii_alphanumeric)
    });
    !line.starts_with(b"#") && (is_ver || word.eq_ignore_ascii_case(b"SecComponentSignature"))
}
