//! `@verifyCC`, `@verifyCPF`, `@verifySSN` and `@verifySVNR`: numbers found by a pattern whose check digits are right.

use super::rx::push_groups;
use super::{BuildContext, BuildError, Captures, MatchLimit, Matcher};
use crate::vocab::pcre::{Groups, Pattern};

#[derive(Debug)]
struct Verified {
    pattern: Pattern,
    check: fn(&[u8]) -> bool,
    /// Bytes that may be searched again from within a rejected match before it counts as a step limit.
    match_limit: usize,
}

/// Matches when the pattern finds a payment card number (check digit by Luhn's formula).
///
/// Argument: a pattern as for `@rx`. Captures: the groups of the match accepted.
///
/// Example: `SecRule ARGS "@verifyCC \d{13,16}"`.
pub(super) fn build_cc(argument: &[u8], context: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    build(argument, context, is_card_number)
}

/// Matches when the pattern finds a Brazilian taxpayer number (CPF).
///
/// Argument and captures: as for `@verifyCC`.
///
/// Example: `SecRule ARGS "@verifyCPF /^([0-9]{3}\.){2}[0-9]{3}-[0-9]{2}$/"`.
pub(super) fn build_cpf(argument: &[u8], context: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    build(argument, context, is_cpf)
}

/// Matches when the pattern finds a possible social security number of the United States.
///
/// Argument and captures: as for `@verifyCC`.
///
/// Example: `SecRule ARGS "@verifySSN \d{3}-?\d{2}-?\d{4}"`.
pub(super) fn build_ssn(argument: &[u8], context: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    build(argument, context, is_ssn)
}

/// Matches when the pattern finds an Austrian social security number.
///
/// Argument and captures: as for `@verifyCC`.
///
/// Example: `SecRule ARGS "@verifySVNR [0-9]{4} ?[0-9]{6}"`.
pub(super) fn build_svnr(argument: &[u8], context: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    build(argument, context, is_svnr)
}

fn build(
    argument: &[u8],
    context: &mut dyn BuildContext,
    check: fn(&[u8]) -> bool,
) -> Result<Box<dyn Matcher>, BuildError> {
    let match_limit = context.match_limit();
    Ok(Box::new(Verified { pattern: Pattern::new(argument, match_limit)?, check, match_limit }))
}

impl Matcher for Verified {
    fn is_match(&self, value: &[u8], captures: Option<&mut Captures>) -> Result<bool, MatchLimit> {
        let mut groups = Groups::default();
        let mut from = 0;
        // A rejected match is searched again from its second byte; without a bound a long run of digits would cost
        // the square of its length.
        let mut steps = self.match_limit.saturating_add(value.len());
        while from <= value.len() && self.pattern.find_at(value, from, &mut groups)? {
            let Some((start, end)) = groups.get(0) else { break };
            if start < end && (self.check)(value.get(start..end).unwrap_or_default()) {
                captures.into_iter().for_each(|captures| push_groups(value, &groups, captures));
                return Ok(true);
            }
            steps = steps.checked_sub(end - from + 1).ok_or(MatchLimit)?;
            from = start + 1;
        }
        Ok(false)
    }
}

fn digits(text: &[u8]) -> Vec<u32> {
    text.iter().filter_map(|byte| char::from(*byte).to_digit(10)).collect()
}

/// From the right, every second digit counts twice, its own digits summed.
fn is_card_number(text: &[u8]) -> bool {
    let digits = digits(text);
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let terms = digits.iter().rev().enumerate();
    let sum: u32 = terms.map(|(place, digit)| if place % 2 == 1 { doubled(*digit) } else { *digit }).sum();
    !digits.is_empty() && sum.is_multiple_of(10)
}

/// Eleven digits, not all alike; the last two are weighted sums modulo 11.
fn is_cpf(text: &[u8]) -> bool {
    let digits = digits(text);
    let check = |count: usize| {
        let weights = (2..).take(count).collect::<Vec<u32>>().into_iter().rev();
        let sum: u32 = digits.iter().zip(weights).map(|(digit, weight)| digit * weight).sum();
        let rest = 11 - sum % 11;
        digits.get(count) == Some(&if rest > 9 { 0 } else { rest })
    };
    digits.len() == 11 && digits.iter().any(|digit| digits.first() != Some(digit)) && check(9) && check(10)
}

/// Nine digits, neither all alike nor each one above the one before; no part zero, the area below 740 and not 666.
fn is_ssn(text: &[u8]) -> bool {
    let digits = digits(text);
    let [a, b, c, d, e, serial @ ..] = digits.as_slice() else { return false };
    let area = a * 100 + b * 10 + c;
    let steps_are = |step: u32| digits.iter().zip(digits.iter().skip(1)).all(|(digit, next)| digit + step == *next);
    serial.len() == 4
        && !(steps_are(0) || steps_are(1))
        && !(area == 0 || area == 666 || area >= 740)
        && d + e > 0
        && serial.iter().any(|digit| *digit > 0)
}

/// Ten digits; the fourth is the weighted sum of the others modulo 11.
fn is_svnr(text: &[u8]) -> bool {
    const WEIGHTS: [u32; 10] = [3, 7, 9, 0, 5, 8, 4, 2, 1, 6];
    let digits = digits(text);
    let sum: u32 = digits.iter().zip(WEIGHTS).map(|(digit, weight)| digit * weight).sum();
    digits.len() == WEIGHTS.len() && digits.get(3) == Some(&(sum % 11))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{captured, matcher};
    use super::*;

    #[test]
    fn the_match_accepted_is_captured() {
        let found = captured("verifyCC", br"(\d{4})-?\d{4}-?\d{4}-?\d{4}", b"1234567890123456 5484-6050-8915-8216");
        assert_eq!(found, Some(vec![b"5484-6050-8915-8216".to_vec(), b"5484".to_vec()]));
    }

    #[test]
    fn a_long_run_of_digits_hits_the_limit() {
        let card = matcher("verifyCC", br"\d+").unwrap();
        let one = [vec![b'0'; 20_000], vec![b'1']].concat();
        assert_eq!(card.is_match(&one, None), Err(MatchLimit));
        assert_eq!(card.is_match(&vec![b'x'; 20_001], None), Ok(false));
    }

    #[test]
    fn check_digits_decide() {
        assert!(is_cpf(b"010.817.514-60") && !is_cpf(b"010.817.514-61") && !is_cpf(b"111.111.111-11"));
        assert!(
            is_ssn(b"574-57-8065") && !is_ssn(b"666-57-8065") && !is_ssn(b"574-00-8065") && !is_ssn(b"574-57-0000")
        );
        assert!(is_svnr(b"1237 010180") && !is_svnr(b"1238 010180"));
        assert!(!is_card_number(b"") && is_card_number(b"4012888888881881"));
    }
}
