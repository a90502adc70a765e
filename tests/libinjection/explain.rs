//! Where we answer as the newer C library does (85e252a) and not as the one that is at hand (3.9.2). There is one such place:
//!
//! An attribute of five letters or more that begins with `on` does harm to 3.9.2 whatever follows, to 85e252a only if what follows is, or begins
//! with, one of 298 events. So 3.9.2 refuses `onward=1` and `ongoing=x` as well.
//!
//! A difference counts as explained if the two agree on the same value with another name in place of every attribute that
//! begins with `on` and is no event.

use crate::{Ours, Tally, c, corpus};

/// Whether the answers to the value differ for the reason above.
pub(crate) fn is_explained(ours: &Ours, value: &[u8], found: bool) -> bool {
    let renamed = rename(ours, value);
    renamed != value && ours.xss(&renamed) == found && c::Value::new(&renamed).xss() == found
}

/// The value with `on` written `qq` where an attribute that is no event may begin. A name follows a byte that is no
/// letter, and no other name that matters begins with `on`.
fn rename(ours: &Ours, value: &[u8]) -> Vec<u8> {
    let mut renamed = value.to_vec();
    for start in 0..value.len().saturating_sub(1) {
        let is_start = start == 0 || !value[start - 1].is_ascii_alphabetic();
        if is_start && value[start..start + 2].eq_ignore_ascii_case(b"on") && !is_event(ours, &value[start..]) {
            renamed[start..start + 2].copy_from_slice(b"qq");
        }
    }
    renamed
}

/// Whether we take the name at the beginning of this for that of an event.
fn is_event(ours: &Ours, text: &[u8]) -> bool {
    let ends = |byte: &u8| matches!(byte, 0 | b'\t'..=b'\r' | b' ' | b'/' | b'=' | b'>' | b'"' | b'\'' | b'`');
    let len = text.iter().position(ends).unwrap_or(text.len());
    ours.xss(&[b"<a ", &text[..len], b"=1>"].concat())
}

/// The difference itself, on names of both kinds. Of the events those of the C project's table, where it is there.
pub(crate) fn known(ours: &Ours) -> [Tally; 2] {
    let mut tally = Tally::default();
    let mut check = |name: &str, expected: bool| {
        let value = format!("<a {name}=1>").into_bytes();
        let (found, theirs) = (ours.xss(&value), c::Value::new(&value).xss());
        tally.compared += 1;
        tally.positive += usize::from(theirs);
        match (found == expected && theirs, found == theirs) {
            (false, _) => tally.unexplained.push(format!("{name}: {found}, C {theirs}, expected {expected}, C true")),
            (true, true) => {}
            (true, false) => tally.explained += 1,
        }
    };
    for name in ["onward", "on-click", "onclic", "ongoing", "onx\u{e9}x"] {
        check(name, false);
    }
    let events = corpus::events();
    for event in &events {
        check(&format!("on{event}"), true);
        check(&format!("ON{}-more", event.to_lowercase()), true);
    }
    [Tally::default(), tally]
}
