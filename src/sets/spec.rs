//! How a person names a rule set: `crs`, `crs@VERSION`, `crs@DIR`, `baseline`, or the path of a SecLang file.
//!
//! Looks at the text alone; whether the set is there is found out later.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A rule set's name, understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetSpec {
    /// `crs`: the one in `rules/crs/`, else the newest installed, else the embedded one.
    Crs,
    /// `crs@3.3.10`: that version, wherever it is.
    CrsVersion(String),
    /// `crs@DIR`: a CRS folder, with its own set-up file.
    CrsFolder(PathBuf),
    /// `baseline`: the embedded rules of ours.
    Baseline,
    /// Anything else: a SecLang file that says all by itself.
    File(PathBuf),
}

impl FromStr for SetSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('@') {
            _ if text.is_empty() => Err(format!("the rule set's name is empty; write {FORMS}")),
            _ if text == "crs" => Ok(Self::Crs),
            _ if text == "baseline" => Ok(Self::Baseline),
            Some(("crs", "")) => Err("`crs@` names no version and no folder; write `crs@4.28.0` or `crs@DIR`".into()),
            Some(("crs", version)) if is_version(version) => Ok(Self::CrsVersion(version.to_owned())),
            Some(("crs", folder)) => Ok(Self::CrsFolder(folder.into())),
            _ => Ok(Self::File(text.into())),
        }
    }
}

/// The forms a name can take, for messages.
pub const FORMS: &str = "`crs`, `crs@VERSION`, `crs@DIR`, `baseline`, or the path of a SecLang file";

/// `4.28.0`, `3.3`, `4.0.0-rc1`; a folder of such a name is written `crs@./4.28.0`.
fn is_version(text: &str) -> bool {
    let (numbers, suffix) = text.split_once('-').unwrap_or((text, "x"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    numbers.split('.').all(is_number) && is_word(suffix)
}

impl fmt::Display for SetSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crs => f.write_str("crs"),
            Self::CrsVersion(version) => write!(f, "crs@{version}"),
            Self::CrsFolder(folder) => write!(f, "crs@{}", folder.display()),
            Self::Baseline => f.write_str("baseline"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_told_apart() {
        let version = |text: &str| SetSpec::CrsVersion(text.into());
        let folder = |text: &str| SetSpec::CrsFolder(text.into());
        let file = |text: &str| SetSpec::File(text.into());
        let cases = [
            ("crs", SetSpec::Crs),
            ("baseline", SetSpec::Baseline),
            ("crs@3.3.10", version("3.3.10")),
            ("crs@4.0.0-rc1", version("4.0.0-rc1")),
            ("crs@./4.28.0", folder("./4.28.0")),
            ("crs@/opt/crs", folder("/opt/crs")),
            ("crs@4.28.0/", folder("4.28.0/")),
            ("crs@a@b", folder("a@b")),
            ("./crs", file("./crs")),
            ("rules/crs", file("rules/crs")),
            ("my@rules.conf", file("my@rules.conf")),
            ("CRS", file("CRS")),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse(), Ok(expected.clone()), "{text}");
            assert_eq!(expected.to_string(), text);
        }
    }

    #[test]
    fn a_name_that_says_nothing_is_refused_with_the_fix() {
        for (text, fix) in [("", "`baseline`"), ("crs@", "`crs@4.28.0`")] {
            let error = text.parse::<SetSpec>().unwrap_err();
            assert!(error.contains(fix), "{error}");
        }
    }
}
