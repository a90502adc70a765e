//! Checks that say what does not hold.

/// What a check says when it does not hold.
pub(crate) type Checked<T = ()> = Result<T, String>;

/// `Err(message)` unless the condition holds.
pub(crate) fn ensure(holds: bool, message: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(message()) }
}
