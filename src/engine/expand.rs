//! Macro expansion. Expanded text is not expanded again; what is unset is empty.

use super::transaction::Transaction;
use super::values;
use crate::ruleset::rule::{Rule, Selector};
use crate::ruleset::template::{Macro, Piece, Template};
use crate::vocab::variables::{Origin, Variable};

impl Transaction<'_> {
    /// Appends the text of a template to `out`.
    pub(crate) fn expand_into(&mut self, template: &Template, rule: &Rule, out: &mut Vec<u8>) {
        self.expand_pieces(template.pieces(), rule, out);
    }

    /// Appends the text of some pieces of a template to `out`.
    pub(crate) fn expand_pieces(&mut self, pieces: &[Piece], rule: &Rule, out: &mut Vec<u8>) {
        for piece in pieces {
            match piece {
                Piece::Literal(text) => out.extend_from_slice(text),
                Piece::Macro(found) => self.expand_macro(found, rule, out),
            }
        }
    }

    /// The text of a template, in the scratch's buffer. Put it back into `work.argument` when it has been read, so that
    /// the next expansion allocates nothing.
    pub(crate) fn expand_argument(&mut self, template: &Template, rule: &Rule) -> Vec<u8> {
        let mut text = std::mem::take(&mut self.work.argument);
        text.clear();
        self.expand_into(template, rule, &mut text);
        text
    }

    /// The text of a template, to be kept.
    pub(crate) fn expand(&mut self, template: &Template, rule: &Rule) -> Vec<u8> {
        let mut text = Vec::new();
        self.expand_into(template, rule, &mut text);
        text
    }

    /// Appends the first value that a macro names.
    fn expand_macro(&mut self, found: &Macro, rule: &Rule, out: &mut Vec<u8>) {
        let variable = found.variable;
        if variable.origin() == Origin::Volatile {
            self.state.read_volatile = true;
        }
        if variable == Variable::Tx {
            let value = match found.slot {
                Some(slot) => self.state.tx.get(slot),
                None => self.state.tx.get_dynamic(found.key.as_deref().unwrap_or_default()),
            };
            out.extend_from_slice(value.unwrap_or_default());
            return;
        }
        let selector = found.key.as_ref().map_or(Selector::All, |key| Selector::Key(key.clone()));
        if values::is_of_state(variable) {
            let mut members = std::mem::take(&mut self.work.named);
            members.clear();
            values::of_state(variable, &selector, (self.rules, rule), (self.state, self.inputs), &mut members);
            out.extend_from_slice(members.get(0).map_or(&[], |(_, value)| value));
            self.work.named = members;
        } else {
            let mut first = true;
            values::of_request(variable, &selector, (self.request, self.input), &mut |_, value| {
                if std::mem::take(&mut first) {
                    out.extend_from_slice(value);
                }
            });
        }
    }
}
