//! `@beginsWith`, `@contains`, `@endsWith`, `@streq`, `@strmatch` and `@within`: bytes compared with bytes, case counts.

use crate::vocab::necessary::frequency;

/// Whether the value is the argument.
///
/// Example: `SecRule REQUEST_METHOD "@streq POST"`.
pub(super) fn streq(argument: &[u8], value: &[u8]) -> bool {
    argument == value
}

/// Whether the value holds the argument somewhere; an empty argument is everywhere. Also `@strmatch`.
///
/// Example: `SecRule REQUEST_URI "@contains .."`.
pub(super) fn contains(argument: &[u8], value: &[u8]) -> bool {
    holds(value, argument)
}

/// Whether the value begins with the argument.
///
/// Example: `SecRule REQUEST_FILENAME "@beginsWith /admin/"`.
pub(super) fn begins_with(argument: &[u8], value: &[u8]) -> bool {
    value.starts_with(argument)
}

/// Whether the value ends with the argument.
///
/// Example: `SecRule REQUEST_FILENAME "@endsWith .php"`.
pub(super) fn ends_with(argument: &[u8], value: &[u8]) -> bool {
    value.ends_with(argument)
}

/// Whether the argument holds the value somewhere: a plain substring test, so lists fence their items. An empty value
/// is in every list.
///
/// Example: `SecRule REQUEST_METHOD "!@within %{tx.allowed_methods}"`.
pub(super) fn within(argument: &[u8], value: &[u8]) -> bool {
    holds(argument, value)
}

/// Lists up to this length are looked through byte by byte, and others up to this many bytes at the rarest byte.
const SHORT: usize = 32;
const LONG: usize = 4096;

/// Whether a text occurs in another.
fn holds(text: &[u8], part: &[u8]) -> bool {
    // A searcher costs more to build than a short text to look through. What is looked for at the rarest byte may be
    // compared at every place: the bound on the length bounds that.
    match rarest(part) {
        None => true,
        Some(_) if text.len() < SHORT => text.windows(part.len()).any(|window| window == part),
        Some((place, byte)) if text.len() < LONG => memchr::memchr_iter(byte, text)
            .filter_map(|found| text.get(found.checked_sub(place)?..))
            .any(|rest| rest.starts_with(part)),
        Some(_) => memchr::memmem::find(text, part).is_some(),
    }
}

/// The place of the rarest of the first bytes, and that byte; `None` when there is none.
fn rarest(part: &[u8]) -> Option<(usize, u8)> {
    let rarer = |a: &(usize, u8), b: &(usize, u8)| frequency(a.1).total_cmp(&frequency(b.1));
    part.iter().copied().enumerate().take(SHORT).min_by(rarer)
}
