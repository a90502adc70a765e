//! `@ipMatch` and `@ipMatchFromFile`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{BuildContext, BuildError, Captures, MatchLimit, Matcher};

/// Address ranges, kept as sorted ranges that neither touch nor overlap, so that a long list costs a binary search.
#[derive(Debug)]
struct Networks {
    v4: Vec<(u128, u128)>,
    v6: Vec<(u128, u128)>,
}

/// Matches when the value is an address in one of the networks listed.
///
/// Argument: addresses and networks such as `10.0.0.0/8` or `2001:db8::/32` with commas between them; bits behind the
/// prefix are ignored.
///
/// Example: `SecRule REMOTE_ADDR "@ipMatch 127.0.0.1,::1"`.
pub(super) fn build(argument: &[u8], _: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    let mut networks = Networks { v4: Vec::new(), v6: Vec::new() };
    let mut offset = 0;
    for entry in argument.split(|byte| *byte == b',') {
        let place = offset + entry.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        networks.add(entry.trim_ascii()).map_err(|error| BuildError { offset: Some(place), ..error })?;
        offset += entry.len() + 1;
    }
    Ok(Box::new(networks.finish()))
}

/// Matches when the value is an address in one of the networks of a file.
///
/// Argument: the file's name. The file has one network a line; `#` begins a comment.
///
/// Example: `SecRule REMOTE_ADDR "@ipMatchFromFile blocked.dat"`.
pub(super) fn build_from_file(argument: &[u8], context: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    let name = String::from_utf8_lossy(argument.trim_ascii());
    let text = context.data_file(&name).map_err(BuildError::new)?;
    let mut networks = Networks { v4: Vec::new(), v6: Vec::new() };
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let entry = line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii();
        if !entry.is_empty() {
            networks.add(entry).map_err(|error| in_file(error, &name, number))?;
        }
    }
    Ok(Box::new(networks.finish()))
}

impl Networks {
    fn add(&mut self, entry: &[u8]) -> Result<(), BuildError> {
        let bad = || BuildError {
            message: format!("`{}` is not an address or a network", entry.escape_ascii()),
            help: Some(
                "write an address such as `192.0.2.7` or a network such as `192.0.2.0/24` or `2001:db8::/32`".into(),
            ),
            offset: None,
        };
        let text = std::str::from_utf8(entry).map_err(|_| bad())?;
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let (list, number, bits) = match address {
            IpAddr::V4(address) => (&mut self.v4, u128::from(address.to_bits()), 32),
            IpAddr::V6(address) => (&mut self.v6, address.to_bits(), 128),
        };
        let prefix = prefix.map_or(Some(bits), |prefix| prefix.parse().ok().filter(|prefix| *prefix <= bits));
        let host_bits = bits - prefix.ok_or_else(bad)?;
        let hosts = u128::MAX.checked_shr(128 - host_bits).unwrap_or(0);
        list.push((number & !hosts, number | hosts));
        Ok(())
    }

    fn finish(mut self) -> Self {
        for list in [&mut self.v4, &mut self.v6] {
            list.sort_unstable();
            list.dedup_by(|next, kept| {
                let joined = next.0 <= kept.1.saturating_add(1);
                if joined {
                    kept.1 = kept.1.max(next.1);
                }
                joined
            });
        }
        self
    }
}

impl Matcher for Networks {
    fn is_match(&self, value: &[u8], _: Option<&mut Captures>) -> Result<bool, MatchLimit> {
        let Some(address) = std::str::from_utf8(value).ok().and_then(|text| text.trim().parse().ok()) else {
            return Ok(false);
        };
        let (list, number) = match address {
            IpAddr::V4(address) => (&self.v4, u128::from(Ipv4Addr::to_bits(address))),
            IpAddr::V6(address) => (&self.v6, Ipv6Addr::to_bits(address)),
        };
        let after = list.partition_point(|(first, _)| *first <= number);
        Ok(after.checked_sub(1).and_then(|place| list.get(place)).is_some_and(|(_, last)| number <= *last))
    }
}

fn in_file(error: BuildError, name: &str, line: usize) -> BuildError {
    BuildError { message: format!("{} (line {line} of `{name}`)", error.message), ..error }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Context, matcher};
    use super::*;

    #[test]
    fn a_bad_entry_is_named_with_its_place() {
        let cases =
            [("10.0.0.1, x", "x", 10), ("10.0.0.0/33", "10.0.0.0/33", 0), ("::1/129", "::1/129", 0), ("", "", 0)];
        for (argument, entry, offset) in cases {
            let error = matcher("ipMatch", argument.as_bytes()).unwrap_err();
            assert_eq!(error.message, format!("`{entry}` is not an address or a network"));
            assert_eq!(error.offset, Some(offset), "{argument}");
        }
    }

    #[test]
    fn a_file_has_comments_and_its_errors_a_line() {
        let mut context = Context { file: b"# all\n10.0.0.0/9 # half\n\n10.128.0.0/9\r\n", ..Context::default() };
        let networks = build_from_file(b"file", &mut context).unwrap();
        for (value, expected) in [("10.127.255.255", true), ("10.128.0.0", true), ("11.0.0.0", false), ("10", false)] {
            assert_eq!(networks.is_match(value.as_bytes(), None), Ok(expected), "{value}");
        }
        context.file = b"\n10.0.0\n";
        let error = build_from_file(b"file", &mut context).unwrap_err();
        assert_eq!(error.message, "`10.0.0` is not an address or a network (line 2 of `file`)");
        assert_eq!(build_from_file(b"other", &mut context).unwrap_err().message, "no file `other`");
    }

    #[test]
    fn the_whole_address_space_is_one_range() {
        let networks = matcher("ipMatch", b"0.0.0.0/0,::/0").unwrap();
        for value in ["0.0.0.0", "255.255.255.255", "::", "ffff::1"] {
            assert_eq!(networks.is_match(value.as_bytes(), None), Ok(true), "{value}");
        }
    }
}
