//! The C library libinjection, as libmodsecurity 3 exports it (3.9.2 in Debian's 3.0.9).

#![expect(unsafe_code, reason = "calls a C library; built for the comparison only")]

use std::ffi::{CStr, c_char, c_int};

#[link(name = "modsecurity")]
unsafe extern "C" {
    fn libinjection_version() -> *const c_char;
    fn libinjection_sqli(value: *const c_char, len: usize, fingerprint: *mut c_char) -> c_int;
    fn libinjection_xss(value: *const c_char, len: usize) -> c_int;
}

/// What the library says its version is.
pub(crate) fn version() -> String {
    // SAFETY: takes nothing and returns a constant string with a NUL at its end.
    let version = unsafe { CStr::from_ptr(libinjection_version()) };
    version.to_string_lossy().into_owned()
}

/// A value for the library, with NULs behind it: it reads some bytes beyond the end that it is told, where it means to
/// compare a name with a longer one.
pub(crate) struct Value {
    padded: Vec<u8>,
    len: usize,
}

impl Value {
    const PADDING: usize = 64;

    pub(crate) fn new(value: &[u8]) -> Self {
        let padded = [value, &[0; Self::PADDING]].concat();
        Self { padded, len: value.len() }
    }

    /// The fingerprint, if it is an injection.
    pub(crate) fn sqli(&self) -> Option<Vec<u8>> {
        let (found, fingerprint) = self.fingerprint();
        let letters = fingerprint.iter().map(|letter| letter.to_ne_bytes()[0]).take_while(|letter| *letter != 0);
        found.then(|| letters.collect())
    }

    /// Whether it is an injection.
    pub(crate) fn is_sqli(&self) -> bool {
        self.fingerprint().0
    }

    fn fingerprint(&self) -> (bool, [c_char; 8]) {
        let mut fingerprint = [0; 8];
        // SAFETY: the value is readable over the length given and beyond; a fingerprint has at most five letters and a NUL,
        // for which the library asks for eight bytes.
        let found = unsafe { libinjection_sqli(self.padded.as_ptr().cast(), self.len, fingerprint.as_mut_ptr()) };
        (found != 0, fingerprint)
    }

    /// Whether something would run script.
    pub(crate) fn xss(&self) -> bool {
        // SAFETY: the value is readable over the length given and beyond.
        unsafe { libinjection_xss(self.padded.as_ptr().cast(), self.len) != 0 }
    }
}
