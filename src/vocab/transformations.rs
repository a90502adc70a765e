//! The transformations (`t:lowercase`, `t:urlDecodeUni`, …): one file each below `transformations/`, one row each in
//! [`TRANSFORMATIONS`].

/// What transformations may need beside the value.
#[derive(Clone, Default, Debug)]
pub struct TransformationContext {
    /// The code page map of `SecUnicodeMapFile`, used by `urlDecodeUni`; without one `%uHHHH` gives its low byte.
    pub unicode_map: Option<std::sync::Arc<UnicodeMap>>,
}

/// A code page's best-fit map from code points to single bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnicodeMap {
    _map: Vec<u8>,
}

/// Writes the transformed value to `output` (which is empty) and returns whether it differs from `input`. When it
/// returns `false`, `output` may hold anything.
pub type Apply = fn(input: &[u8], output: &mut Vec<u8>, context: &TransformationContext) -> bool;

/// A row of the table.
pub struct Transformation {
    /// The name in its usual spelling.
    pub name: &'static str,
    /// The function.
    pub apply: Apply,
}

/// Every transformation there is (without `none`), sorted by name without regard to case. A transformation's place
/// here is its identity in compiled rules.
pub const TRANSFORMATIONS: &[Transformation] = &[];

/// The place in [`TRANSFORMATIONS`] of the one with this name (any case; `normalise…` spellings included).
pub fn find(name: &str) -> Option<usize> {
    TRANSFORMATIONS.iter().position(|entry| entry.name.eq_ignore_ascii_case(name))
}
