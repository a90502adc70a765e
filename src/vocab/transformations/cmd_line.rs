//! `cmdLine`: undoes what shells ignore.

use super::TransformationContext;

/// Deletes `\ " ' ^`, makes runs of `,`, `;` and blanks one blank, drops it before `/` and `(`, and makes ASCII letters
/// lower case.
pub(super) fn apply(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    if !input.iter().fold(false, |seen, byte| seen | is_of_interest(*byte)) {
        return false;
    }
    let mut after_blank = false;
    let mut rest = input;
    // Run by run: most bytes only change their case, which is done for all at the end.
    while let Some(first) = rest.first() {
        let len = rest.iter().position(|byte| TAKEN_OUT.holds(*byte)).unwrap_or(rest.len());
        let (run, behind) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        if !run.is_empty() {
            if after_blank && matches!(first, b'/' | b'(') {
                output.pop();
            }
            output.extend_from_slice(run);
            after_blank = false;
        }
        let Some((byte, behind)) = behind.split_first() else { break };
        if is_blank(*byte) {
            if !after_blank {
                output.push(b' ');
            }
            after_blank = true;
        }
        rest = behind;
    }
    output.make_ascii_lowercase();
    output != input
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b',' | b';' | b'\t' | b'\r' | b'\n')
}

const fn is_taken_out(byte: u8) -> bool {
    is_blank(byte) || matches!(byte, b'"' | b'\'' | b'\\' | b'^')
}

const fn is_of_interest(byte: u8) -> bool {
    is_taken_out(byte) || byte.is_ascii_uppercase()
}

/// The bytes that are taken out, as a table.
struct TakenOut([bool; 256]);

static TAKEN_OUT: TakenOut = TakenOut::read();

#[expect(clippy::indexing_slicing, reason = "a byte is below 256")]
impl TakenOut {
    const fn read() -> Self {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            table[byte] = is_taken_out(byte as u8);
            byte += 1;
        }
        Self(table)
    }

    fn holds(&self, byte: u8) -> bool {
        self.0[usize::from(byte)]
    }
}
