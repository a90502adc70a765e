//! Text with macros, parsed once.

use std::sync::Arc;

use super::index::TxSlot;
use crate::vocab::variables::Variable;

/// A text that may hold `%{…}` macros.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Template {
    pieces: Vec<Piece>,
}

/// A part of a [`Template`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// Text that stays as it is.
    Literal(Box<[u8]>),
    /// A macro.
    Macro(Macro),
}

/// `%{VARIABLE}` or `%{VARIABLE.key}`; of a collection the first member with that key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Macro {
    /// The variable.
    pub variable: Variable,
    /// The key, lower case; for `TX` the name.
    pub key: Option<Arc<[u8]>>,
    /// For `TX` the name's slot.
    pub slot: Option<TxSlot>,
}

impl Template {
    /// A template from its parts; neighbouring literals need not be joined.
    pub fn new(pieces: Vec<Piece>) -> Self {
        Self { pieces }
    }

    /// The macros, to be changed.
    pub(crate) fn macros_mut(&mut self) -> impl Iterator<Item = &mut Macro> {
        self.pieces.iter_mut().filter_map(|piece| match piece {
            Piece::Macro(found) => Some(found),
            Piece::Literal(_) => None,
        })
    }

    /// The parts in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The whole text when it holds no macro.
    pub fn as_literal(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            [] => Some(&[]),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The TX variable that is all of the text.
    pub(crate) fn as_slot(&self) -> Option<TxSlot> {
        match self.pieces.as_slice() {
            [Piece::Macro(found)] if found.variable == Variable::Tx => found.slot,
            _ => None,
        }
    }

    /// The macros in order.
    pub fn macros(&self) -> impl Iterator<Item = &Macro> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Macro(found) => Some(found),
            Piece::Literal(_) => None,
        })
    }
}

impl From<&[u8]> for Template {
    fn from(text: &[u8]) -> Self {
        if text.is_empty() { Self::default() } else { Self { pieces: vec![Piece::Literal(text.into())] } }
    }
}
