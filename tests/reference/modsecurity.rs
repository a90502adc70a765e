//! libmodsecurity 3 through its C interface, for comparisons: a development aid, never part of the product.
//!
//! The library is opened when it is asked for, not linked: what compares can be built where it is not installed, and
//! then says so. Debian has it as `libmodsecurity3` (`libmodsecurity-dev` for those who link).

#![expect(unsafe_code, reason = "calls of a C library; every function it offers is called in this file alone")]
#![allow(dead_code, unreachable_pub, reason = "programs include this file as a module and use a part of it each")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use portcullis::model::Request;

/// The names under which the dynamic linker may find the library.
const NAMES: [&CStr; 2] = [c"libmodsecurity.so.3", c"libmodsecurity.so"];

const RTLD_NOW: c_int = 2;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

type Pointer = *mut c_void;
type Bytes = *const u8;
type LogCallback = extern "C" fn(Pointer, *const c_void);

/// Declares a struct of function pointers and the function that fills it.
macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) -> $result:ty,)*) => {
        #[derive(Clone, Copy, Debug)]
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Functions {
            /// `None` when one of them is missing.
            fn find(library: Pointer) -> Option<Self> {
                Some(Self {
                    $($name: {
                        let name = CString::new(stringify!($name)).ok()?;
                        // SAFETY: `library` is a handle that dlopen gave, and the name ends in NUL.
                        let found = unsafe { dlsym(library, name.as_ptr()) };
                        if found.is_null() {
                            return None;
                        }
                        // SAFETY: the types are those of the library's headers (transaction.h, rules_set.h, modsecurity.h).
                        unsafe { std::mem::transmute::<Pointer, unsafe extern "C" fn($($argument),*) -> $result>(found) }
                    },)*
                })
            }
        }
    };
}

functions! {
    msc_init: fn() -> Pointer,
    msc_who_am_i: fn(Pointer) -> *const c_char,
    msc_set_log_cb: fn(Pointer, LogCallback) -> (),
    msc_create_rules_set: fn() -> Pointer,
    msc_rules_add: fn(Pointer, *const c_char, *mut *const c_char) -> c_int,
    msc_rules_add_file: fn(Pointer, *const c_char, *mut *const c_char) -> c_int,
    msc_new_transaction_with_id: fn(Pointer, Pointer, *const c_char, Pointer) -> Pointer,
    msc_process_connection: fn(Pointer, *const c_char, c_int, *const c_char, c_int) -> c_int,
    msc_process_uri: fn(Pointer, *const c_char, *const c_char, *const c_char) -> c_int,
    msc_add_n_request_header: fn(Pointer, Bytes, usize, Bytes, usize) -> c_int,
    msc_process_request_headers: fn(Pointer) -> c_int,
    msc_append_request_body: fn(Pointer, Bytes, usize) -> c_int,
    msc_process_request_body: fn(Pointer) -> c_int,
    msc_process_logging: fn(Pointer) -> c_int,
    msc_intervention: fn(Pointer, *mut Intervention) -> c_int,
    msc_transaction_cleanup: fn(Pointer) -> (),
}

/// `ModSecurityIntervention_t`.
#[repr(C)]
#[derive(Debug)]
struct Intervention {
    status: c_int,
    pause: c_int,
    url: *mut c_char,
    log: *mut c_char,
    disruptive: c_int,
}

/// A part of a rule set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// SecLang text.
    Text(String),
    /// The path of a SecLang file.
    File(String),
}

/// The library with a rule set loaded. Engine and rules live as long as the process: there are few, and it has no
/// reliable way to take them down.
#[derive(Debug)]
pub struct ModSecurity {
    functions: Functions,
    engine: Pointer,
    rules: Pointer,
}

// SAFETY: after loading, engine and rules are only read; the library's own connectors for threaded servers share them.
unsafe impl Send for ModSecurity {}
// SAFETY: as above; each transaction stays on the thread that made it.
unsafe impl Sync for ModSecurity {}

/// What the library says about a request.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Judgement {
    /// The ids of the rules it logged, in order, one for each line.
    pub logged: Vec<u32>,
    /// The lines themselves, when they were asked for.
    pub lines: Vec<String>,
    /// It asked for the request to be refused.
    pub denied: bool,
}

impl ModSecurity {
    /// Opens the library and loads the rules; `Ok(None)` when the library is not installed.
    ///
    /// # Errors
    /// What the library says about the rules.
    pub fn load(sources: &[Source]) -> Result<Option<Self>, String> {
        let Some(functions) = open() else { return Ok(None) };
        // SAFETY: plain constructors without arguments.
        let (engine, rules) = unsafe { ((functions.msc_init)(), (functions.msc_create_rules_set)()) };
        // SAFETY: `engine` was just made, and the callback has the type that the library calls.
        unsafe { (functions.msc_set_log_cb)(engine, on_line) };
        let loaded = Self { functions, engine, rules };
        for source in sources {
            loaded.add(source)?;
        }
        Ok(Some(loaded))
    }

    fn add(&self, source: &Source) -> Result<(), String> {
        let (Source::Text(text) | Source::File(text)) = source;
        let text = CString::new(text.as_str()).map_err(|error| error.to_string())?;
        let add = match source {
            Source::Text(_) => self.functions.msc_rules_add,
            Source::File(_) => self.functions.msc_rules_add_file,
        };
        let mut message = ptr::null();
        // SAFETY: the rules were made by the library, the text ends in NUL, the message is set by the library.
        let added = unsafe { add(self.rules, text.as_ptr(), &raw mut message) };
        if added >= 0 { Ok(()) } else { Err(text_at(message)) }
    }

    /// The name and version the library gives itself.
    pub fn version(&self) -> String {
        // SAFETY: the engine lives as long as the process, and so does its name.
        text_at(unsafe { (self.functions.msc_who_am_i)(self.engine) })
    }

    /// Takes a request through phases 1 and 2 and, if `logging`, phase 5.
    pub fn judge(&self, request: &Request<'_>, unique_id: &str, logging: bool) -> Judgement {
        self.transaction(request, unique_id, logging, false)
    }

    /// As [`Self::judge`] with phase 5, keeping the log lines.
    pub fn explain(&self, request: &Request<'_>, unique_id: &str) -> Judgement {
        self.transaction(request, unique_id, true, true)
    }

    fn transaction(&self, request: &Request<'_>, unique_id: &str, logging: bool, keep_lines: bool) -> Judgement {
        let mut sink = Sink { keep_lines, judgement: Judgement::default() };
        let [id, client, server] = [
            c_text(unique_id.as_bytes()),
            c_text(request.remote_addr.map(|address| address.to_string()).unwrap_or_default().as_bytes()),
            c_text(request.server_addr.map(|address| address.to_string()).unwrap_or_default().as_bytes()),
        ];
        let [target, method, version] = [
            c_text(request.target),
            c_text(request.method),
            c_text(request.protocol.strip_prefix(b"HTTP/").unwrap_or(request.protocol)),
        ];
        let f = &self.functions;
        // SAFETY: every pointer is to memory that outlives the call; the sink outlives the transaction, which is taken
        // down before this function ends.
        unsafe {
            let sink = ptr::from_mut(&mut sink).cast();
            let transaction = (f.msc_new_transaction_with_id)(self.engine, self.rules, id.as_ptr(), sink);
            let (from, to) = (c_int::from(request.remote_port), c_int::from(request.server_port));
            (f.msc_process_connection)(transaction, client.as_ptr(), from, server.as_ptr(), to);
            (f.msc_process_uri)(transaction, target.as_ptr(), method.as_ptr(), version.as_ptr());
            for header in request.headers {
                let (name, value) = (header.name, header.value);
                (f.msc_add_n_request_header)(transaction, name.as_ptr(), name.len(), value.as_ptr(), value.len());
            }
            (f.msc_process_request_headers)(transaction);
            let body = request.body.bytes();
            if !body.is_empty() {
                (f.msc_append_request_body)(transaction, body.as_ptr(), body.len());
            }
            (f.msc_process_request_body)(transaction);
            if logging {
                (f.msc_process_logging)(transaction);
            }
            self.finish(transaction, &mut (*sink.cast::<Sink>()).judgement);
        }
        sink.judgement
    }

    /// Reads the intervention and takes the transaction down.
    ///
    /// # Safety
    /// `transaction` is one of this library that is not used afterwards.
    unsafe fn finish(&self, transaction: Pointer, judgement: &mut Judgement) {
        let mut intervention =
            Intervention { status: 200, pause: 0, url: ptr::null_mut(), log: ptr::null_mut(), disruptive: 0 };
        // SAFETY: see above; the two texts it may leave behind are small and few.
        unsafe {
            (self.functions.msc_intervention)(transaction, &raw mut intervention);
            (self.functions.msc_transaction_cleanup)(transaction);
        }
        judgement.denied = intervention.disruptive != 0;
    }
}

fn open() -> Option<Functions> {
    let library = NAMES.iter().find_map(|name| {
        // SAFETY: the name ends in NUL; the library's constructors do nothing but register its own data.
        let library = unsafe { dlopen(name.as_ptr(), RTLD_NOW) };
        (!library.is_null()).then_some(library)
    })?;
    Functions::find(library)
}

struct Sink {
    keep_lines: bool,
    judgement: Judgement,
}

/// Called by the library for each line that it would write to the server's error log.
extern "C" fn on_line(sink: Pointer, line: *const c_void) {
    // SAFETY: the library hands back the pointer that its transaction was made with, and a text of its own.
    let (sink, line) = unsafe { (&mut *sink.cast::<Sink>(), CStr::from_ptr(line.cast())) };
    sink.judgement.logged.extend(id_in(line.to_bytes()));
    if sink.keep_lines {
        sink.judgement.lines.push(line.to_string_lossy().into_owned());
    }
}

/// The number in the last `[id "…"]`: what precedes it may hold text of the client.
fn id_in(line: &[u8]) -> Option<u32> {
    const START: &[u8] = b"] [id \"";
    let at = line.windows(START.len()).rposition(|window| window == START)?;
    let digits = line.get(at + START.len()..)?.split(|byte| *byte == b'"').next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// A C string; what follows a NUL byte is lost, as it is with every caller of this interface.
fn c_text(bytes: &[u8]) -> CString {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}

fn text_at(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null, so it is one of the library's own texts, which end in NUL.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
