//! The doors, wire in and wire out: real sockets, raw bytes, and a judge that writes down what it was asked.

mod admin;
mod arbitrary;
mod checklist;
mod double;
mod ext_authz;
mod failures;
mod forward_auth;
mod limits;
mod listen;
mod parity;
mod reference;
pub(crate) mod wire;
