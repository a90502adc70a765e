//! The values of settings: what can be written, how it is read, how it is shown.
//!
//! Pure functions of text. Each reader answers `None` for what it does not take; [`Kind`] says what it takes.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::errors::nearest;
use super::headers::canonical;
use super::{Address, AuditTarget, IpNet};

/// What a setting takes; the words of messages and the JSON Schema come from here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number in this range.
    Number(u64, u64),
    /// `as_is` or a status.
    Status,
    /// Bytes, in this range.
    Size(u64, u64),
    /// A time, longer than nothing.
    Duration,
    /// Where to listen, or `off`.
    Address,
    /// Networks.
    Networks,
    /// A rule set.
    RuleSet,
    /// Names of exclusion profiles.
    Profiles,
    /// Files.
    Files,
    /// `stdout` or a file.
    AuditTarget,
    /// Tokens of HTTP: methods.
    Methods,
    /// Names of headers.
    Headers,
    /// TX variables.
    Variables,
}

impl Kind {
    /// The noun: "… is not a duration".
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Word(_) => "one of the words known here",
            Self::Number(..) => "a number in range",
            Self::Status => "a status",
            Self::Size(..) => "a size in range",
            Self::Duration => "a duration",
            Self::Address => "an address to listen on",
            Self::Networks => "a network",
            Self::RuleSet => "a rule set",
            Self::Profiles => "a profile's name",
            Self::Files => "a file name",
            Self::AuditTarget => "an audit target",
            Self::Methods => "a method",
            Self::Headers => "a header name",
            Self::Variables => "a value for a TX variable",
        }
    }

    /// What to write instead.
    pub(super) fn fix(self) -> String {
        match self {
            Self::Bool => "write `true` or `false`".to_owned(),
            Self::Word(words) => format!("write {}", or(words)),
            Self::Number(low, high) => format!("write a number from {low} to {high}"),
            Self::Status => "write `as_is` or a status from 400 to 599".to_owned(),
            Self::Size(low, high) => {
                format!("write `131072`, `128KiB` or `64MiB` ({} to {})", size_text(low), size_text(high))
            }
            Self::Duration => "write `200ms`, `60s`, `5m` or `1h` (at most one day)".to_owned(),
            Self::Address => "write `127.0.0.1:9191`, `[::1]:9191`, `unix:/run/portcullis.sock` or `off`".to_owned(),
            Self::Networks => "write `10.0.0.0/8`, `192.0.2.7` or `2001:db8::/32`".to_owned(),
            Self::RuleSet => {
                "write `crs`, `crs@4.28.0`, `crs@DIR`, `baseline` or the path of a SecLang file".to_owned()
            }
            Self::Profiles => "write a name that `portcullis rules profiles` lists".to_owned(),
            Self::Files => "write the path of a SecLang file".to_owned(),
            Self::AuditTarget => "write `stdout` or the path of a file".to_owned(),
            Self::Methods => "write `GET`, `HEAD` or another method".to_owned(),
            Self::Headers => "write a name such as `x-request-id`".to_owned(),
            Self::Variables => "write a text on one line".to_owned(),
        }
    }

    /// What to write instead of this text: the word or spelling that was probably meant, if there is one.
    pub(super) fn fix_for(self, text: &str) -> String {
        let meant = match self {
            Self::Word(words) => nearest(text, words.iter().copied()).map(str::to_owned),
            Self::Bool => spelt_out(text).map(str::to_owned),
            Self::Size(..) | Self::Duration => without_blanks(text).filter(|text| self.takes(text)),
            Self::Networks => network_of(text),
            _ => None,
        };
        meant.map_or_else(|| self.fix(), |meant| format!("did you mean `{meant}`?"))
    }

    fn takes(self, text: &str) -> bool {
        match self {
            Self::Size(low, high) => size(text, low, high).is_some(),
            Self::Duration => duration(text).is_some(),
            _ => false,
        }
    }

    /// Whether a list is taken.
    pub(super) fn is_list(self) -> bool {
        matches!(self, Self::Networks | Self::Profiles | Self::Files | Self::Methods | Self::Headers)
    }
}

/// The truth value that YAML 1.1 and shells mean by this word.
fn spelt_out(text: &str) -> Option<&'static str> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "on" | "1" | "true" => Some("true"),
        "no" | "off" | "0" | "false" => Some("false"),
        _ => None,
    }
}

fn without_blanks(text: &str) -> Option<String> {
    text.contains(' ').then(|| text.replace(' ', ""))
}

/// The network that an address with host bits lies in.
fn network_of(text: &str) -> Option<String> {
    let (addr, prefix) = text.split_once('/')?;
    let addr: IpAddr = addr.parse().ok()?;
    let longest = if addr.is_ipv4() { 32 } else { 128 };
    let prefix = number(prefix, 0, longest).and_then(|prefix| u8::try_from(prefix).ok())?;
    Some(network_text(&IpNet { addr: IpNet { addr, prefix }.masked(addr), prefix }))
}

/// `a`, `b` or `c`.
fn or(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

pub(super) fn boolean(text: &str) -> Option<bool> {
    text.parse().ok()
}

pub(super) fn number(text: &str, low: u64, high: u64) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && (low..=high).contains(number))
}

pub(super) fn status(text: &str) -> Option<Option<u16>> {
    match text {
        "as_is" => Some(None),
        _ => number(text, 400, 599).and_then(|number| u16::try_from(number).ok()).map(Some),
    }
}

const SIZE_UNITS: [(&str, u64); 8] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("kB", 1000),
    ("KB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

pub(super) fn size(text: &str, low: u64, high: u64) -> Option<u64> {
    let (digits, factor) = SIZE_UNITS
        .iter()
        .find_map(|(unit, factor)| text.strip_suffix(unit).map(|digits| (digits, *factor)))
        .unwrap_or((text, 1));
    number(digits, 0, u64::MAX)?.checked_mul(factor).filter(|size| (low..=high).contains(size))
}

/// In the largest binary unit that divides it.
pub(super) fn size_text(size: u64) -> String {
    let units = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.iter().find(|(_, factor)| size > 0 && size.is_multiple_of(*factor)) {
        Some((unit, factor)) => format!("{}{unit}", size / factor),
        None => size.to_string(),
    }
}

const DURATION_UNITS: [(&str, u64); 5] = [("ms", 1), ("us", 0), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];
const LONGEST: Duration = Duration::from_secs(24 * 3600);

pub(super) fn duration(text: &str) -> Option<Duration> {
    let (unit, factor) = DURATION_UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    let amount = number(text.strip_suffix(unit)?, 1, u64::MAX)?;
    let duration = match *factor {
        0 => Duration::from_micros(amount),
        factor => Duration::from_millis(amount.checked_mul(factor)?),
    };
    (duration <= LONGEST).then_some(duration)
}

pub(super) fn duration_text(duration: Duration) -> String {
    let micros = duration.as_micros();
    let units = [("h", 3_600_000_000u128), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1000)];
    match units.iter().find(|(_, factor)| micros > 0 && micros.is_multiple_of(*factor)) {
        Some((unit, factor)) => format!("{}{unit}", micros / factor),
        None => format!("{micros}us"),
    }
}

pub(super) fn address(text: &str) -> Option<Option<Address>> {
    if text == "off" {
        return Some(None);
    }
    let address = match text.strip_prefix("unix:") {
        // Linux keeps 108 bytes for the path of a socket, the last of them a zero.
        Some(path) => (path.starts_with('/') && path.len() < 108).then(|| Address::Unix(PathBuf::from(path)))?,
        None => Address::Tcp(text.parse::<SocketAddr>().ok()?),
    };
    Some(Some(address))
}

pub(super) fn address_text(address: Option<&Address>) -> String {
    match address {
        None => "off".to_owned(),
        Some(Address::Tcp(address)) => address.to_string(),
        Some(Address::Unix(path)) => format!("unix:{}", path.display()),
    }
}

pub(super) fn network(text: &str) -> Option<IpNet> {
    let (addr, prefix) = match text.split_once('/') {
        Some((addr, prefix)) => (addr, Some(prefix)),
        None => (text, None),
    };
    let addr: IpAddr = addr.parse().ok()?;
    let longest = if addr.is_ipv4() { 32 } else { 128 };
    let prefix = prefix.map_or(Some(longest), |prefix| number(prefix, 0, longest))?;
    let net = IpNet { addr, prefix: u8::try_from(prefix).ok()? };
    (net.masked(addr) == addr).then_some(net)
}

pub(super) fn network_text(net: &IpNet) -> String {
    let whole = if net.addr.is_ipv4() { 32 } else { 128 };
    if net.prefix == whole { net.addr.to_string() } else { format!("{}/{}", net.addr, net.prefix) }
}

/// A path on one line; relative ones start at the folder of the file they are written in.
pub(super) fn path(text: &str, base: Option<&Path>) -> Option<PathBuf> {
    let path = one_line(text)?;
    Some(base.map_or_else(|| PathBuf::from(&path), |base| base.join(&path)))
}

pub(super) fn audit_target(text: &str, base: Option<&Path>) -> Option<AuditTarget> {
    match text {
        "stdout" | "/dev/stdout" => Some(AuditTarget::Stdout),
        _ => path(text, base).map(AuditTarget::File),
    }
}

/// The name of a rule set; a path in it is made to start at the folder of the file it is written in.
pub(super) fn rule_set(text: &str, base: Option<&Path>) -> Option<String> {
    let text = one_line(text)?;
    let joined = |path: &str| base.map_or_else(|| path.to_owned(), |base| base.join(path).display().to_string());
    match (text.as_str(), text.strip_prefix("crs@")) {
        ("crs" | "baseline", _) => Some(text),
        (_, Some("")) => None,
        (_, Some(folder)) if folder.contains('/') => Some(format!("crs@{}", joined(folder))),
        (_, Some(_)) => Some(text),
        (path, None) => Some(joined(path)),
    }
}

/// A text that is not empty and holds no control character.
pub(super) fn one_line(text: &str) -> Option<String> {
    (!text.is_empty() && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

/// A value of a TX variable: it may be empty.
pub(super) fn variable(text: &str) -> Option<String> {
    (!text.chars().any(char::is_control)).then(|| text.to_owned())
}

/// A name of a TX variable, lower case, as SecLang compares them.
pub(super) fn variable_name(text: &str) -> Option<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (!text.is_empty() && text.bytes().all(fits)).then(|| text.to_ascii_lowercase())
}

/// Lower case letters, digits and `-`. Whether there is such a profile is known where the rules are.
pub(super) fn profile(text: &str) -> Option<String> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (!text.is_empty() && text.bytes().all(is_letter)).then(|| text.to_owned())
}

pub(super) fn method(text: &str) -> Option<String> {
    is_token(text).then(|| text.to_owned())
}

pub(super) fn header(text: &str) -> Option<String> {
    is_token(text).then(|| String::from_utf8(canonical(text.as_bytes())).unwrap_or_default())
}

/// A token of RFC 9110.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let size_of = |text: &str| size(text, 1, 1 << 40);
        let table = [
            ("131072", Some(131_072)),
            ("64MiB", Some(64 << 20)),
            ("1GiB", Some(1 << 30)),
            ("5kB", Some(5000)),
            ("5MB", Some(5_000_000)),
            ("7B", Some(7)),
            ("0", None),
            ("64 MiB", None),
            ("1.5MiB", None),
            ("-1", None),
            ("+1", None),
            ("64M", None),
            ("99999999999999GiB", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(size_of(text), expected, "{text}");
        }
        for size in [1, 1000, 1024, 64 << 20, 3 << 30] {
            let text = size_text(size);
            assert_eq!(size_of(&text), Some(size));
        }
    }

    #[test]
    fn durations() {
        let table = [
            ("200ms", Some(Duration::from_millis(200))),
            ("60s", Some(Duration::from_secs(60))),
            ("5m", Some(Duration::from_secs(300))),
            ("24h", Some(LONGEST)),
            ("500us", Some(Duration::from_micros(500))),
            ("25h", None),
            ("0s", None),
            ("5 m", None),
            ("60", None),
            ("1.5s", None),
            ("5d", None),
            ("18446744073709551615h", None),
        ];
        for (text, expected) in table {
            assert_eq!(duration(text), expected, "{text}");
            if let Some(duration_read) = expected {
                assert_eq!(duration(&duration_text(duration_read)), expected);
            }
        }
    }

    #[test]
    fn addresses() {
        let yes = ["127.0.0.1:9191", "[::1]:0", "unix:/run/p.sock", "off", "0.0.0.0:80"];
        let no = ["9191", ":9191", "localhost:9191", "unix:p.sock", "127.0.0.1", "127.0.0.1:70000", "", "[::1]"];
        for text in yes {
            assert_eq!(address_text(address(text).unwrap().as_ref()), text);
        }
        for text in no {
            assert_eq!(address(text), None, "{text}");
        }
        assert_eq!(address(&format!("unix:/{}", "x".repeat(107))), None);
    }

    #[test]
    fn networks() {
        for text in ["10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "::1", "0.0.0.0/0"] {
            assert_eq!(network_text(&network(text).unwrap()), text);
        }
        for text in ["10.0.0.1/8", "10.0.0.0/33", "10/8", "::/129", "x", "", "10.0.0.0/", "10.0.0.0/+8"] {
            assert_eq!(network(text), None, "{text}");
        }
    }

    #[test]
    fn rule_sets_and_paths() {
        let base = Some(Path::new("/etc/portcullis"));
        let table = [
            ("crs", Some("crs")),
            ("crs@3.3.10", Some("crs@3.3.10")),
            ("crs@./own", Some("crs@/etc/portcullis/./own")),
            ("crs@/opt/crs", Some("crs@/opt/crs")),
            ("baseline", Some("baseline")),
            ("own.conf", Some("/etc/portcullis/own.conf")),
            ("/opt/own.conf", Some("/opt/own.conf")),
            ("crs@", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(rule_set(text, base).as_deref(), expected, "{text}");
        }
        assert_eq!(path("a.conf", base), Some(PathBuf::from("/etc/portcullis/a.conf")));
        assert_eq!(path("a.conf", None), Some(PathBuf::from("a.conf")));
        assert_eq!(path("a\nb", base), None);
    }
}
