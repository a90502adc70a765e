//! The values of variables: what a target names, one after the other, in order of arrival.

use super::input::Input;
use super::state::State;
use super::{Inputs, time};
use crate::model::Request;
use crate::ruleset::RuleSet;
use crate::ruleset::rule::{Rule, Selector, XML_ATTRIBUTES_KEY, XML_TEXT_KEY};
use crate::vocab::transformations;
use crate::vocab::variables::{Origin, Variable};

use super::fields::Fields;

/// A number as text, without an allocation.
pub(crate) struct Decimal {
    digits: [u8; 20],
    start: usize,
}

impl Decimal {
    /// The decimal text of a number.
    pub(crate) fn new(number: u64) -> Self {
        let mut decimal = Self { digits: [b'0'; 20], start: 20 };
        let mut rest = number;
        loop {
            decimal.start -= 1;
            if let Some(digit) = decimal.digits.get_mut(decimal.start) {
                *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            }
            rest /= 10;
            if rest == 0 {
                return decimal;
            }
        }
    }

    /// The text.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.digits.get(self.start..).unwrap_or_default()
    }
}

/// Gives `visit` the key and value of each member of `variable` that the selector means. Only for variables that the
/// request alone determines; see [`of_state`] for the others.
pub(crate) fn of_request(
    variable: Variable,
    selector: &Selector,
    (request, input): (&Request<'_>, &Input),
    visit: &mut impl FnMut(&[u8], &[u8]),
) {
    let body = &input.body.parsed;
    match variable {
        Variable::Args => {
            values(&input.query_arguments, selector, visit);
            values(&body.arguments, selector, visit);
        }
        Variable::ArgsGet => values(&input.query_arguments, selector, visit),
        Variable::ArgsPost => values(&body.arguments, selector, visit),
        Variable::ArgsNames => {
            names(&input.query_arguments, selector, visit);
            body_names(body, selector, visit);
        }
        Variable::ArgsGetNames => names(&input.query_arguments, selector, visit),
        Variable::ArgsPostNames => body_names(body, selector, visit),
        Variable::RequestCookies => values(&input.cookies, selector, visit),
        Variable::RequestCookiesNames => names(&input.cookies, selector, visit),
        Variable::RequestHeaders | Variable::RequestHeadersNames => {
            let named = variable == Variable::RequestHeadersNames;
            for header in request.headers.iter().filter(|header| selector.matches(header.name)) {
                visit(header.name, if named { header.name } else { header.value });
            }
        }
        Variable::Files | Variable::MultipartFilename => values(&body.files, selector, visit),
        Variable::FilesNames | Variable::MultipartName => names(&body.files, selector, visit),
        Variable::FilesSizes => {
            for ((name, _), size) in body.files.iter().zip(&body.file_sizes) {
                if selector.matches(name) {
                    visit(name, Decimal::new(*size as u64).as_bytes());
                }
            }
        }
        Variable::MultipartPartHeaders => values(&body.part_headers, selector, visit),
        Variable::Xml => xml(body, selector, visit),
        _ => scalar_of_request(variable, (request, input), visit),
    }
}

fn values(fields: &Fields, selector: &Selector, visit: &mut impl FnMut(&[u8], &[u8])) {
    fields.iter().filter(|(name, _)| selector.matches(name)).for_each(|(name, value)| visit(name, value));
}

fn names(fields: &Fields, selector: &Selector, visit: &mut impl FnMut(&[u8], &[u8])) {
    fields.iter().filter(|(name, _)| selector.matches(name)).for_each(|(name, _)| visit(name, name));
}

/// The names of arguments, then those of JSON arrays, which have no value of their own.
fn body_names(body: &super::body::Parsed, selector: &Selector, visit: &mut impl FnMut(&[u8], &[u8])) {
    names(&body.arguments, selector, visit);
    names(&body.array_names, selector, visit);
}

fn xml(body: &super::body::Parsed, selector: &Selector, visit: &mut impl FnMut(&[u8], &[u8])) {
    if matches!(selector, Selector::XmlText) {
        if let Some(text) = &body.xml_text {
            visit(XML_TEXT_KEY, text);
        }
    } else if matches!(selector, Selector::XmlAttributes) {
        body.xml_attributes.iter().for_each(|(_, value)| visit(XML_ATTRIBUTES_KEY, value));
    }
}

fn scalar_of_request(
    variable: Variable,
    (request, input): (&Request<'_>, &Input),
    visit: &mut impl FnMut(&[u8], &[u8]),
) {
    let mut text = |value: &[u8]| visit(b"", value);
    match variable {
        Variable::RequestUri => text(&input.uri),
        Variable::RequestUriRaw => text(request.target),
        // What of a path is `PATH_INFO` only a web server knows; as in ModSecurity v3, all of it.
        Variable::RequestFilename | Variable::PathInfo => text(&input.filename),
        Variable::RequestBasename => text(input.basename()),
        Variable::RequestLine => text(&input.request_line),
        Variable::RequestMethod => text(request.method),
        Variable::RequestProtocol => text(request.protocol),
        Variable::QueryString => text(&input.query),
        Variable::RequestBody => text(request.body.bytes().get(..input.body.visible).unwrap_or_default()),
        Variable::RemoteAddr | Variable::RemoteHost => text(input.remote_addr.as_bytes()),
        Variable::ServerAddr => text(input.server_addr.as_bytes()),
        Variable::ServerName => text(server_name(request)),
        Variable::ReqbodyErrorMsg | Variable::ReqbodyProcessorErrorMsg => text(input.body.error.as_bytes()),
        Variable::RemoteUser => text(&remote_user(request).unwrap_or_default()),
        Variable::AuthType => text(authorization(request).map_or(&[], |(scheme, _)| scheme)),
        Variable::FullRequest => text(&full_request(request, input)),
        Variable::ModsecBuild => text(b"030000000"),
        _ => match number_of_request(variable, (request, input)) {
            Some(number) => text(Decimal::new(number).as_bytes()),
            // Everything of the response, of the server and of storage is one empty value.
            None if variable.shape() == crate::vocab::variables::Shape::Scalar => text(b""),
            None => {}
        },
    }
}

fn number_of_request(variable: Variable, (request, input): (&Request<'_>, &Input)) -> Option<u64> {
    let flags = &input.body.parsed.multipart;
    let body = &input.body.parsed;
    let flag = |set: bool| Some(u64::from(set));
    let size = |bytes: usize| Some(bytes as u64);
    match variable {
        Variable::ArgsCombinedSize => size(input.query_arguments.combined_size() + body.arguments.combined_size()),
        Variable::FilesCombinedSize => size(body.file_sizes.iter().sum()),
        Variable::RequestBodyLength => size(input.body.length),
        Variable::FullRequestLength => size(full_request(request, input).len()),
        Variable::RemotePort => Some(request.remote_port.into()),
        Variable::ServerPort => Some(request.server_port.into()),
        Variable::ReqbodyError | Variable::ReqbodyProcessorError => flag(!input.body.error.is_empty()),
        Variable::UrlencodedError => flag(input.query_error || body.urlencoded_error),
        Variable::InboundDataError => flag(input.body.data_error),
        Variable::MultipartBoundaryQuoted => flag(flags.boundary_quoted),
        Variable::MultipartBoundaryWhitespace => flag(flags.boundary_whitespace),
        Variable::MultipartCrlfLfLines => flag(flags.crlf_lf_lines),
        Variable::MultipartDataAfter => flag(flags.data_after),
        Variable::MultipartDataBefore => flag(flags.data_before),
        Variable::MultipartFileLimitExceeded => flag(flags.file_limit_exceeded),
        Variable::MultipartHeaderFolding => flag(flags.header_folding),
        Variable::MultipartInvalidHeaderFolding => flag(flags.invalid_header_folding),
        Variable::MultipartInvalidPart => flag(flags.invalid_part),
        Variable::MultipartInvalidQuoting => flag(flags.invalid_quoting),
        Variable::MultipartLfLine => flag(flags.lf_line),
        Variable::MultipartMissingSemicolon | Variable::MultipartSemicolonMissing => flag(flags.missing_semicolon),
        Variable::MultipartStrictError => flag(flags.strict_error),
        Variable::MultipartUnmatchedBoundary => Some(flags.unmatched_boundary.into()),
        _ => None,
    }
}

/// The `Host` header without its port; an IPv6 literal keeps its brackets.
fn server_name<'r>(request: &Request<'r>) -> &'r [u8] {
    let host = request.header(b"host").unwrap_or_default();
    let from = host.iter().rposition(|byte| *byte == b']').unwrap_or(0);
    let port = host.get(from..).unwrap_or_default().iter().position(|byte| *byte == b':');
    port.map_or(host, |colon| host.get(..from + colon).unwrap_or_default())
}

fn authorization<'r>(request: &Request<'r>) -> Option<(&'r [u8], &'r [u8])> {
    let value = request.header(b"authorization")?;
    let blank = value.iter().position(|byte| *byte == b' ')?;
    Some((value.get(..blank)?, value.get(blank + 1..)?))
}

/// The user name of Basic credentials.
fn remote_user(request: &Request<'_>) -> Option<Vec<u8>> {
    let (_, credentials) = authorization(request).filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"basic"))?;
    let decode = transformations::TRANSFORMATIONS.get(transformations::find("base64Decode")?)?;
    let mut text = Vec::new();
    (decode.apply)(credentials, &mut text, &transformations::TransformationContext::default());
    text.split(|byte| *byte == b':').next().map(<[u8]>::to_vec)
}

/// Request line, headers and body as one text (ModSecurity v2).
fn full_request(request: &Request<'_>, input: &Input) -> Vec<u8> {
    let mut text = input.request_line.clone();
    text.extend_from_slice(b"\r\n");
    for header in request.headers {
        for part in [header.name, b": ", header.value, b"\r\n"] {
            text.extend_from_slice(part);
        }
    }
    text.extend_from_slice(b"\r\n");
    text.extend_from_slice(request.body.bytes().get(..input.body.visible).unwrap_or_default());
    text
}

/// Whether a variable's values come from the transaction's own state, which actions change while targets are visited.
pub(crate) fn is_of_state(variable: Variable) -> bool {
    matches!(
        variable,
        Variable::Tx
            | Variable::MatchedVar
            | Variable::MatchedVarName
            | Variable::MatchedVars
            | Variable::MatchedVarsNames
            | Variable::Rule
            | Variable::HighestSeverity
            | Variable::ReqbodyProcessor
    ) || variable.origin() == Origin::Volatile
}

/// Copies the members of a state variable into `out`, so that actions may change the state while they are visited.
pub(crate) fn of_state(
    variable: Variable,
    selector: &Selector,
    (rules, rule): (&RuleSet, &Rule),
    (state, inputs): (&State, &Inputs<'_>),
    out: &mut Fields,
) {
    match variable {
        Variable::Tx => of_tx(selector, rules, state, out),
        Variable::MatchedVar => out.push(b"", &state.matched_var),
        Variable::MatchedVarName => out.push(b"", &state.matched_var_name),
        Variable::MatchedVars => {
            state.matched.iter().filter(|(name, _)| selector.matches(name)).for_each(|(name, value)| {
                out.push(name, value);
            });
        }
        Variable::MatchedVarsNames => {
            state.matched.iter().filter(|(name, _)| selector.matches(name)).for_each(|(name, _)| out.push(name, name));
        }
        Variable::Rule => of_rule(selector, rule, out),
        Variable::HighestSeverity => out.push(b"", Decimal::new(state.highest_severity.into()).as_bytes()),
        Variable::ReqbodyProcessor => out.push(b"", state.body_processor.as_bytes()),
        Variable::UniqueId => out.push(b"", inputs.unique_id.as_bytes()),
        Variable::Duration => out.push(b"", Decimal::new(inputs.duration_micros).as_bytes()),
        _ => out.push(b"", time::text(variable, inputs.now_micros).as_bytes()),
    }
}

fn of_tx(selector: &Selector, rules: &RuleSet, state: &State, out: &mut Fields) {
    match selector {
        Selector::Tx(slot) => {
            if let Some(value) = state.tx.get(*slot) {
                out.push(rules.tx_names.name(*slot), value);
            }
        }
        Selector::TxPattern { pattern, slots } => {
            for slot in slots {
                if let Some(value) = state.tx.get(*slot) {
                    out.push(rules.tx_names.name(*slot), value);
                }
            }
            let made = state.tx.iter_dynamic().filter(|(name, _)| pattern.is_match(name));
            made.for_each(|(name, value)| out.push(name, value));
        }
        _ => {
            let members = state.tx.iter(&rules.tx_names).filter(|(name, _)| selector.matches(name));
            members.for_each(|(name, value)| out.push(name, value));
        }
    }
}

fn of_rule(selector: &Selector, rule: &Rule, out: &mut Fields) {
    let info = &rule.info;
    let severity = info.severity.map(|severity| severity.number().to_string()).unwrap_or_default();
    let logdata = rule.logdata.as_literal().unwrap_or_default();
    let id = info.id.to_string();
    let members: [(&[u8], &[u8]); 5] = [
        (b"id", id.as_bytes()),
        (b"msg", info.msg.as_bytes()),
        (b"severity", severity.as_bytes()),
        (b"rev", info.rev.as_bytes()),
        (b"logdata", logdata),
    ];
    members.into_iter().filter(|(name, _)| selector.matches(name)).for_each(|(name, value)| out.push(name, value));
}
