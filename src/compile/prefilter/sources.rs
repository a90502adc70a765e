//! Which streams of values the targets of rules read.

use crate::ruleset::rule::{Exclusion, Selector, Target};
use crate::vocab::variables::Variable;

/// A stream of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stream {
    pub(super) variable: Variable,
    /// Known only when the body has been read.
    pub(super) late: bool,
    /// Of `XML` the attributes, not the text.
    pub(super) attributes: bool,
}

const fn early(variable: Variable) -> Stream {
    Stream { variable, late: false, attributes: false }
}

const fn late(variable: Variable) -> Stream {
    Stream { variable, late: true, attributes: false }
}

/// Every stream there is.
pub(super) const STREAMS: [Stream; 24] = [
    early(Variable::RequestMethod),
    early(Variable::RequestProtocol),
    early(Variable::RequestLine),
    early(Variable::RequestUri),
    early(Variable::RequestUriRaw),
    early(Variable::RequestFilename),
    early(Variable::RequestBasename),
    early(Variable::QueryString),
    early(Variable::RemoteAddr),
    early(Variable::ServerAddr),
    early(Variable::ServerName),
    early(Variable::RequestHeaders),
    early(Variable::RequestHeadersNames),
    early(Variable::RequestCookies),
    early(Variable::RequestCookiesNames),
    early(Variable::ArgsGet),
    early(Variable::ArgsGetNames),
    late(Variable::ArgsPost),
    late(Variable::ArgsPostNames),
    late(Variable::Files),
    late(Variable::FilesNames),
    late(Variable::MultipartPartHeaders),
    late(Variable::Xml),
    Stream { variable: Variable::Xml, late: true, attributes: true },
];

/// `REQUEST_BODY` is one value, empty before the body is read.
pub(super) const BODY: Stream = late(Variable::RequestBody);

/// The streams that a variable's values come from; none when they are not covered.
fn streams(target: &Target) -> Vec<Stream> {
    match target.variable {
        Variable::Args => vec![early(Variable::ArgsGet), late(Variable::ArgsPost)],
        Variable::ArgsNames => vec![early(Variable::ArgsGetNames), late(Variable::ArgsPostNames)],
        Variable::PathInfo => vec![early(Variable::RequestFilename)],
        Variable::RemoteHost => vec![early(Variable::RemoteAddr)],
        Variable::MultipartFilename => vec![late(Variable::Files)],
        Variable::MultipartName => vec![late(Variable::FilesNames)],
        Variable::RequestBody => vec![BODY],
        Variable::Xml => match target.selector {
            Selector::XmlText => vec![late(Variable::Xml)],
            Selector::XmlAttributes => vec![Stream { attributes: true, ..late(Variable::Xml) }],
            _ => Vec::new(),
        },
        variable => STREAMS.into_iter().filter(|stream| stream.variable == variable).collect(),
    }
}

/// Whether all that the target can name comes from streams.
pub(super) fn coverable(target: &Target, early: bool) -> bool {
    let streams = streams(target);
    let fixed = !target.count && target.variable != Variable::Tx;
    fixed && !streams.is_empty() && !(early && streams.contains(&BODY))
}

/// Whether the target may name members of the stream.
pub(super) fn reads_at_all(target: &Target, stream: Stream) -> bool {
    streams(target).contains(&stream)
}

/// Whether a link with these targets and exclusions may look at members of a stream: at those with the key, or with
/// `None` at those with a key that no rule names. Patterns count for the targets and not for the exclusions.
pub(super) fn reads(targets: &[Target], exclusions: &[Exclusion], stream: Stream, key: Option<&[u8]>) -> bool {
    let is = |name: &[u8]| key.is_some_and(|key| key.eq_ignore_ascii_case(name));
    targets.iter().filter(|target| streams(target).contains(&stream)).any(|target| {
        let selected = match &target.selector {
            Selector::Key(name) => is(name),
            Selector::Tx(_) | Selector::TxPattern { .. } => false,
            Selector::All | Selector::Pattern(_) | Selector::XmlText | Selector::XmlAttributes => true,
        };
        let excluded = exclusions.iter().filter(|exclusion| exclusion.variable == target.variable);
        selected
            && !excluded.into_iter().any(|exclusion| match &exclusion.selector {
                Selector::All => true,
                Selector::Key(name) => is(name),
                _ => false,
            })
    })
}

/// The keys that targets and exclusions name in a stream.
pub(super) fn keys<'r>(targets: &'r [Target], exclusions: &'r [Exclusion], stream: Stream) -> Vec<&'r [u8]> {
    let targets = targets.iter().filter(|target| streams(target).contains(&stream));
    let named = targets.flat_map(|target| {
        let excluded = exclusions.iter().filter(|exclusion| exclusion.variable == target.variable);
        std::iter::once(&target.selector).chain(excluded.map(|exclusion| &exclusion.selector))
    });
    named
        .filter_map(|selector| match selector {
            Selector::Key(name) => Some(&**name),
            _ => None,
        })
        .collect()
}
