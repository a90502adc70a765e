//! CPU time of the calling thread: what others do on the machine is not in it, save for what they do to the caches.

#![expect(unsafe_code, reason = "the clock of the thread's CPU time has no safe interface in std")]

use std::ffi::{c_int, c_long};
use std::time::Duration;

#[repr(C)]
struct Timespec {
    seconds: c_long,
    nanoseconds: c_long,
}

unsafe extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
}

/// What this thread has used.
pub(crate) fn cpu_time() -> Duration {
    const CLOCK_THREAD_CPUTIME_ID: c_int = 3;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the struct has the layout of `timespec` on 64-bit Linux and outlives the call.
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.seconds.unsigned_abs(), u32::try_from(time.nanoseconds).unwrap_or(0))
}
