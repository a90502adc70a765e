//! The rule language as text: sources, lexing, a syntax tree faithful to the text, printing and diagnostics.
//!
//! Returns the tree **and** all diagnostics, since broken input is normal. Does not know what an operator does, the
//! engine, or the file system: files come through [`source::Loader`].

pub mod ast;
pub mod diag;
mod lexer;
pub mod parser;
pub mod print;
pub mod source;
