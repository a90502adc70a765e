//! Who the client is: the address that `X-Forwarded-For` names, as far as its authors are trusted.
//!
//! Knows no rules: `REMOTE_ADDR` must never be the peer of the proxy's call to us, since CRS lifts rules for loopback.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use crate::config::IpNet;

/// What a list of `X-Forwarded-For` lines says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forwarded {
    /// The right-most address that is not a trusted proxy.
    Client(IpAddr),
    /// The right-most entry that is not a trusted proxy is no address.
    Unknown,
    /// There is no entry but those of trusted proxies.
    Nobody,
}

/// Reads `X-Forwarded-For` lines (in order of arrival) from the right, passing over trusted proxies.
pub fn forwarded_for<'v>(lines: impl DoubleEndedIterator<Item = &'v [u8]>, trusted: &[IpNet]) -> Forwarded {
    let entries = lines.rev().flat_map(|line| line.rsplit(|&byte| byte == b',')).map(<[u8]>::trim_ascii);
    for entry in entries.filter(|entry| !entry.is_empty()) {
        match address(entry) {
            Some(address) if is_trusted(address, trusted) => {}
            Some(address) => return Forwarded::Client(address),
            None => return Forwarded::Unknown,
        }
    }
    Forwarded::Nobody
}

/// Reads an address, with or without brackets and a port. An IPv4 address in IPv6 clothes becomes IPv4 again.
pub fn address(text: &[u8]) -> Option<IpAddr> {
    if text.is_empty() {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?.trim_matches('"');
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    IpAddr::from_str(bare)
        .or_else(|_| SocketAddr::from_str(text).map(|address| address.ip()))
        .ok()
        .map(|address| address.to_canonical())
}

/// Whether an address lies in one of the networks.
pub fn is_trusted(address: IpAddr, trusted: &[IpNet]) -> bool {
    trusted.iter().any(|net| net.contains(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nets(list: &[(&str, u8)]) -> Vec<IpNet> {
        list.iter().map(|(addr, prefix)| IpNet { addr: addr.parse().unwrap(), prefix: *prefix }).collect()
    }

    #[test]
    fn the_right_most_untrusted_entry_is_the_client() {
        let trusted = nets(&[("10.0.0.0", 8), ("2001:db8::", 32), ("192.0.2.7", 32)]);
        let client = |text: &str| Forwarded::Client(text.parse().unwrap());
        for (lines, expected) in [
            (&[][..], Forwarded::Nobody),
            (&[""], Forwarded::Nobody),
            (&["198.51.100.1"], client("198.51.100.1")),
            (&["198.51.100.1, 10.1.2.3"], client("198.51.100.1")),
            (&["6.6.6.6, 198.51.100.1,10.1.2.3 , 192.0.2.7"], client("198.51.100.1")),
            (&["6.6.6.6", "198.51.100.1", "10.9.9.9"], client("198.51.100.1")),
            (&["10.1.2.3, 10.4.5.6"], Forwarded::Nobody),
            (&["198.51.100.1, unknown, 10.1.2.3"], Forwarded::Unknown),
            (&["198.51.100.1, \u{e9}"], Forwarded::Unknown),
            (&["198.51.100.1:4711"], client("198.51.100.1")),
            (&["[2001:db9::1]:4711"], client("2001:db9::1")),
            (&["[2001:db9::1]"], client("2001:db9::1")),
            (&["2001:db9::1, 2001:db8::5"], client("2001:db9::1")),
            (&["\"[2001:db9::1]\""], client("2001:db9::1")),
            (&["::ffff:198.51.100.1, ::ffff:10.0.0.1"], client("198.51.100.1")),
        ] {
            let got = forwarded_for(lines.iter().map(|line| line.as_bytes()), &trusted);
            assert_eq!(got, expected, "{lines:?}");
        }
    }
}
