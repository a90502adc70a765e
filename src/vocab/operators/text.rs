//! `@beginsWith`, `@contains`, `@endsWith`, `@streq`, `@strmatch` and `@within`: bytes compared with bytes, case counts.

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

/// Texts up to this length are looked through at each place that a byte of the other turns up at.
const SHORT: usize = 4096;

/// Whether a text occurs in another.
fn holds(text: &[u8], part: &[u8]) -> bool {
    // A searcher costs more to build than a short text to look through. A byte from the middle tells more than the first,
    // which in lists is a fence. The bound on the length bounds how often all may be compared in vain.
    let middle = part.len() / 2;
    match part.get(middle) {
        None => true,
        Some(byte) if text.len() <= SHORT => {
            let may_hold = part.get(middle.saturating_sub(1)..).and_then(<[u8]>::first_chunk);
            may_hold.is_none_or(|three| holds_three(text, *three))
                && memchr::memchr_iter(*byte, text)
                    .filter_map(|found| text.get(found.checked_sub(middle)?..))
                    .any(|rest| rest.starts_with(part))
        }
        Some(_) => memchr::memmem::find(text, part).is_some(),
    }
}

/// Whether three bytes follow each other somewhere in a text.
fn holds_three(text: &[u8], [first, second, third]: [u8; 3]) -> bool {
    let (seconds, thirds) = (text.get(1..).unwrap_or_default(), text.get(2..).unwrap_or_default());
    let places = text.iter().zip(seconds).zip(thirds);
    // 0 where all three are. The least, without early exit, lets the compiler look at many places at once.
    let different = places.map(|((a, b), c)| (a ^ first) | (b ^ second) | (c ^ third));
    different.fold(u8::MAX, u8::min) == 0
}
