//! `@validateByteRange`.

use std::ops::RangeInclusive;

use super::{BuildContext, BuildError, Captures, MatchLimit, Matcher};
use crate::vocab::byte_set::ByteSet;
use crate::vocab::necessary::Necessary;

#[derive(Debug)]
struct ByteRange {
    allowed: ByteSet,
}

/// Matches when any byte of the value is outside the ranges listed; an empty value never does.
///
/// Argument: numbers and ranges from 0 to 255 with commas between them; empty: every byte is outside.
///
/// Example: `SecRule ARGS "@validateByteRange 9,10,13,32-126"`.
pub(super) fn build(argument: &[u8], context: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    let mut allowed = ByteSet::EMPTY;
    let mut offset = 0;
    if !argument.trim_ascii().is_empty() {
        for item in argument.split(|byte| *byte == b',') {
            allowed.insert_range(range(item).ok_or_else(|| bad_range(item, offset))?);
            offset += item.len() + 1;
        }
    }
    context.take_necessary(Necessary::byte_of(allowed.complement()).best());
    Ok(Box::new(ByteRange { allowed }))
}

impl Matcher for ByteRange {
    fn is_match(&self, value: &[u8], _: Option<&mut Captures>) -> Result<bool, MatchLimit> {
        Ok(value.iter().any(|byte| !self.allowed.contains(*byte)))
    }
}

fn range(item: &[u8]) -> Option<RangeInclusive<u8>> {
    let item = std::str::from_utf8(item).ok()?;
    let (first, last) = item.split_once('-').unwrap_or((item, item));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last).then_some(first..=last)
}

fn bad_range(item: &[u8], offset: usize) -> BuildError {
    BuildError {
        message: format!("`{}` is not a byte or a range of bytes", item.escape_ascii()),
        help: Some("write numbers from 0 to 255 and ranges of them, such as `9,10,13,32-126`".into()),
        offset: Some(offset),
    }
}

#[cfg(test)]
mod tests {
    use crate::vocab::operators::testing::matcher;

    #[test]
    fn a_bad_item_is_named_with_its_place() {
        for (argument, item, offset) in
            [("xxx", "xxx", 0), ("1-5,300", "300", 4), ("9-1", "9-1", 0), ("1,,2", "", 2), ("1-2-3", "1-2-3", 0)]
        {
            let error = matcher("validateByteRange", argument.as_bytes()).unwrap_err();
            assert_eq!(error.message, format!("`{item}` is not a byte or a range of bytes"));
            assert_eq!(error.offset, Some(offset), "{argument}");
        }
    }
}
