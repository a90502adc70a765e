//! `@beginsWith`, `@contains`, `@endsWith`, `@streq`, `@strmatch` and `@within`: bytes compared with bytes, case counts.

use memchr::memmem;

/// Lists up to this length are looked through byte by byte.
const SHORT: usize = 32;

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
    memmem::find(value, argument).is_some()
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
    // A searcher costs more to build than a short list to look through.
    if argument.len() < SHORT && !value.is_empty() {
        return argument.windows(value.len()).any(|window| window == value);
    }
    memmem::find(argument, value).is_some()
}
