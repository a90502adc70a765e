//! Every operator can be made of any argument, or refuses it, and takes any value; captures lie within their bound.
//!
//! The first byte chooses the operator, the argument goes up to the first byte FF, the rest is the value. Data files
//! hold the argument itself.

use portcullis::vocab::operators::{BuildContext, Captures, OPERATORS, OperatorKind};

struct Context<'d>(&'d [u8]);

impl BuildContext for Context<'_> {
    fn data_file(&mut self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.to_vec())
    }

    fn match_limit(&self) -> usize {
        1_000
    }
}

/// Checks one operator on what `data` holds.
pub(crate) fn run(data: &[u8]) {
    let Some((choice, rest)) = data.split_first() else { return };
    let Some(entry) = OPERATORS.get(usize::from(*choice) % OPERATORS.len()) else { return };
    let mut parts = rest.splitn(2, |byte| *byte == 0xff);
    let (argument, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    match entry.kind {
        OperatorKind::Compare(compare) => {
            compare(argument, value);
        }
        OperatorKind::Inert(_) => {}
        OperatorKind::Build(build) => {
            let Ok(matcher) = build(argument, &mut Context(argument)) else { return };
            let mut captures = Captures::default();
            let plain = matcher.is_match(value, None);
            let capturing = matcher.is_match(value, Some(&mut captures));
            // With captures a backtracking pattern may need more steps, but it never comes to the other answer.
            if let (Ok(plain), Ok(capturing)) = (plain, capturing) {
                assert_eq!(plain, capturing, "@{} matches only sometimes", entry.name);
            }
            assert!(captures.len() <= Captures::MAX, "@{} captures too much", entry.name);
        }
    }
}
