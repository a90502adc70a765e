//! A decision in words that both doors use: what to do, which headers, which text.
//!
//! Knows no wire format. Nothing of the client's request is repeated, and nothing of the rules is told but what the
//! policy exposes.

use std::borrow::Cow;

use http::HeaderName;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

use crate::config::Expose;
use crate::service::{Answer, Decision};

/// What a proxy is told to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply<'d> {
    /// Let the request pass.
    Pass,
    /// Answer the client with this.
    Refuse {
        /// 300 to 599: proxies take anything below for a yes.
        status: u16,
        /// Where to send the client.
        location: Option<&'d str>,
    },
    /// We could not judge, and such requests are not to pass.
    Unavailable,
}

/// What to do about a decision. `close` has no counterpart: no proxy closes a connection on an authorizer's word.
pub fn reply(decision: &Decision) -> Reply<'_> {
    const FORBIDDEN: u16 = 403;
    match &decision.answer {
        Answer::Allow | Answer::Failure { open: true, .. } => Reply::Pass,
        Answer::Failure { open: false, .. } => Reply::Unavailable,
        Answer::Redirect { status: status @ 300..=399, location } if is_field_value(location) => {
            Reply::Refuse { status: *status, location: Some(location) }
        }
        Answer::Deny { status: status @ 300..=599, .. } => Reply::Refuse { status: *status, location: None },
        Answer::Deny { .. } | Answer::Redirect { .. } => Reply::Refuse { status: FORBIDDEN, location: None },
    }
}

/// Whether a text can stand in a header without becoming two (response splitting).
fn is_field_value(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| (0x21..=0x7e).contains(&byte))
}

/// `allow`, `deny`, `redirect` or `error`.
pub fn verdict(decision: &Decision) -> &'static str {
    match decision.answer {
        Answer::Allow => "allow",
        Answer::Deny { .. } => "deny",
        Answer::Redirect { .. } => "redirect",
        Answer::Failure { .. } => "error",
    }
}

/// The inbound anomaly score, 0 when the rules did not run.
pub fn score(decision: &Decision) -> i64 {
    decision.outcome.as_ref().map_or(0, |outcome| outcome.score.inbound)
}

/// The request id in an alphabet that is safe in headers, logs and pages.
pub fn request_id(decision: &Decision) -> Cow<'_, str> {
    const AT_MOST: usize = 64;
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let id = &decision.request_id;
    // Every byte is looked at whatever the others are, which is done many at a time.
    if id.len() <= AT_MOST && id.bytes().fold(true, |all, byte| all & safe(byte)) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(id.bytes().filter(|byte| safe(*byte)).take(AT_MOST).map(char::from).collect())
}

fn score_text(decision: &Decision) -> Cow<'static, str> {
    match score(decision) {
        0 => Cow::Borrowed("0"),
        score => Cow::Owned(score.to_string()),
    }
}

/// The names of our headers, made once.
static VERDICT: HeaderName = HeaderName::from_static("x-waf-verdict");
static SCORE: HeaderName = HeaderName::from_static("x-waf-score");
static REQUEST_ID: HeaderName = HeaderName::from_static("x-waf-request-id");

/// A header of an answer.
pub type AnswerHeader<'d> = (&'static HeaderName, Cow<'d, str>);

/// Headers for the backend. All of them on every answer, so that the proxy replaces what a client made up.
pub fn upstream_headers(decision: &Decision) -> [AnswerHeader<'_>; 3] {
    [(&VERDICT, verdict(decision).into()), (&SCORE, score_text(decision)), (&REQUEST_ID, request_id(decision))]
}

/// Headers for the client whose request is refused.
pub fn client_headers(decision: &Decision) -> Vec<AnswerHeader<'_>> {
    let mut headers = vec![
        (&CONTENT_TYPE, "text/plain; charset=utf-8".into()),
        (&CACHE_CONTROL, "no-store".into()),
        (&REQUEST_ID, request_id(decision)),
    ];
    if decision.expose != Expose::None {
        headers.push((&VERDICT, verdict(decision).into()));
        headers.push((&SCORE, score_text(decision)));
    }
    headers
}

/// The text for the client, one short line: Envoy puts it into `grpc-message` for gRPC clients.
pub fn body(decision: &Decision) -> String {
    const RULES_AT_MOST: usize = 20;
    let said = match decision.answer {
        Answer::Failure { .. } => "request could not be checked",
        _ => "request blocked",
    };
    let mut text = format!("{said}; request id {}", request_id(decision));
    if let (Expose::Rules, Some(outcome)) = (decision.expose, &decision.outcome) {
        let ids: Vec<String> = outcome.logged_ids().take(RULES_AT_MOST).map(|id| id.to_string()).collect();
        text.push_str(&format!("; rules {}", ids.join(",")));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Annotate;
    use crate::service::FailureKind;

    fn decision(answer: Answer) -> Decision {
        Decision {
            answer,
            policy: "default".into(),
            generation: 3,
            request_id: "id-1\r\nx: <b>".to_owned(),
            cached: false,
            evaluation: Duration::ZERO,
            outcome: None,
            expose: Expose::None,
            metadata: Annotate::All,
            upstream_headers: Annotate::All,
        }
    }

    #[test]
    fn no_refusal_looks_like_a_yes() {
        for status in [0, 100, 200, 204, 299, 600, 999, u16::MAX] {
            let denied = decision(Answer::Deny { status, close: false });
            assert_eq!(reply(&denied), Reply::Refuse { status: 403, location: None }, "{status}");
            let redirected = decision(Answer::Redirect { status, location: "/x".to_owned() });
            assert_eq!(reply(&redirected), Reply::Refuse { status: 403, location: None }, "{status}");
        }
        for status in [302, 400, 401, 403, 404, 429, 503, 599] {
            let denied = decision(Answer::Deny { status, close: true });
            assert_eq!(reply(&denied), Reply::Refuse { status, location: None }, "{status}");
        }
    }

    #[test]
    fn a_location_that_would_split_the_response_is_not_sent() {
        for (location, sent) in
            [("https://h/p?q=%0d%0a", true), ("", false), ("/a\r\nset-cookie: x", false), ("/a b", false)]
        {
            let redirected = decision(Answer::Redirect { status: 302, location: location.to_owned() });
            let expected = if sent { (302, Some(location)) } else { (403, None) };
            assert_eq!(reply(&redirected), Reply::Refuse { status: expected.0, location: expected.1 }, "{location}");
        }
    }

    #[test]
    fn failures_pass_only_when_the_policy_is_open() {
        let kind = FailureKind::Overload;
        assert_eq!(reply(&decision(Answer::Failure { kind, open: true })), Reply::Pass);
        assert_eq!(reply(&decision(Answer::Failure { kind, open: false })), Reply::Unavailable);
    }

    #[test]
    fn the_text_is_one_safe_line() {
        let text = body(&decision(Answer::Deny { status: 403, close: false }));
        assert_eq!(text, "request blocked; request id id-1xb");
        assert_eq!(client_headers(&decision(Answer::Allow)).len(), 3);
    }
}
