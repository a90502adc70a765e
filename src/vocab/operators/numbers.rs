//! `@eq`, `@ge`, `@gt`, `@le` and `@lt`: both sides read as whole numbers.
//!
//! Leading blanks and a sign are allowed, text behind the number is ignored, text without a number is 0 (ModSecurity 2
//! and 3; Coraza takes `12abc` for 0). Numbers stop at the ends of 64 bits.

/// Whether the value equals the argument.
///
/// Example: `SecRule &REQUEST_HEADERS:Host "@eq 0"`.
pub(super) fn eq(argument: &[u8], value: &[u8]) -> bool {
    integer(value) == integer(argument)
}

/// Whether the value is at least the argument.
///
/// Example: `SecRule TX:INBOUND_SCORE "@ge %{tx.threshold}"`.
pub(super) fn ge(argument: &[u8], value: &[u8]) -> bool {
    integer(value) >= integer(argument)
}

/// Whether the value is above the argument.
///
/// Example: `SecRule ARGS_COMBINED_SIZE "@gt 65535"`.
pub(super) fn gt(argument: &[u8], value: &[u8]) -> bool {
    integer(value) > integer(argument)
}

/// Whether the value is at most the argument.
///
/// Example: `SecRule REQUEST_BODY_LENGTH "@le 10"`.
pub(super) fn le(argument: &[u8], value: &[u8]) -> bool {
    integer(value) <= integer(argument)
}

/// Whether the value is below the argument.
///
/// Example: `SecRule TX:DETECTION_PARANOIA_LEVEL "@lt 2"`.
pub(super) fn lt(argument: &[u8], value: &[u8]) -> bool {
    integer(value) < integer(argument)
}

fn integer(text: &[u8]) -> i64 {
    // Most numbers in rules and counters.
    if let [digit @ b'0'..=b'9'] = text {
        return i64::from(digit - b'0');
    }
    let blanks = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t'..=b'\r')).count();
    let (negative, digits) = match text.get(blanks..).unwrap_or_default() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit()).map(|byte| i64::from(byte - b'0'));
    // Counted downwards, since the negative numbers reach one further.
    let number = digits.fold(0i64, |number, digit| number.saturating_mul(10).saturating_sub(digit));
    if negative { number } else { number.checked_neg().unwrap_or(i64::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_language_says() {
        let cases: [(&[u8], i64); 12] = [
            (b"", 0),
            (b"x", 0),
            (b"12abc", 12),
            (b" \t+7", 7),
            (b"-5", -5),
            (b"--5", 0),
            (b"- 5", 0),
            (b"9223372036854775807", i64::MAX),
            (b"9223372036854775808", i64::MAX),
            (b"-9223372036854775808", i64::MIN),
            (b"-99999999999999999999", i64::MIN),
            (b"007", 7),
        ];
        for (text, number) in cases {
            assert_eq!(integer(text), number, "{}", String::from_utf8_lossy(text));
        }
    }
}
