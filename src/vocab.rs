//! The words of SecLang that are pure functions over bytes: operators, transformations, and the translation of PCRE
//! patterns to a linear-time engine.
//!
//! Knows no syntax tree, no phase, no transaction.

pub mod byte_set;
pub mod necessary;
pub mod operators;
pub mod pcre;
pub mod transformations;
pub mod variables;
