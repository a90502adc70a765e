//! The log line of a matched rule, in the brackets that log readers of the CRS look for.

use std::fmt::Write as _;

use crate::model::RuleMatch;

/// `[id "…"] [msg "…"] [data "…"] [severity "…"] [ver "…"] [tag "…"]…`, macros expanded.
pub(super) fn line(matched: &RuleMatch) -> String {
    let mut text = format!("[id \"{}\"]", matched.info.id);
    bracket(&mut text, "msg", &matched.msg);
    bracket(&mut text, "data", &matched.data);
    if let Some(severity) = matched.info.severity {
        bracket(&mut text, "severity", severity.name().as_bytes());
    }
    bracket(&mut text, "ver", matched.info.ver.as_bytes());
    for tag in matched.tags() {
        bracket(&mut text, "tag", tag.as_bytes());
    }
    text
}

/// Adds ` [name "value"]`; empty values are left out. What could end the bracket or the line is escaped.
fn bracket(text: &mut String, name: &str, value: &[u8]) {
    if value.is_empty() {
        return;
    }
    let _ = write!(text, " [{name} \"");
    for byte in value {
        match byte {
            b'"' | b'\\' | 0..=31 | 127.. => {
                let _ = write!(text, "\\x{byte:02x}");
            }
            _ => text.push(char::from(*byte)),
        }
    }
    text.push_str("\"]");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Phase, RuleId, RuleInfo, Severity};

    #[test]
    fn values_cannot_leave_their_bracket() {
        let info = RuleInfo {
            id: RuleId::new(42).unwrap(),
            phase: Phase::RequestBody,
            file: "r.conf".into(),
            line: 1,
            msg: String::new(),
            severity: Some(Severity::Critical),
            tags: Vec::new(),
            ver: String::new(),
            rev: String::new(),
            maturity: String::new(),
            accuracy: String::new(),
        };
        let matched = RuleMatch {
            info: info.into(),
            msg: b"a [b]".to_vec(),
            data: b"x\"] [id \"1\"]\n\\\xff".to_vec(),
            expanded_tags: Some(vec!["t/1".to_owned(), "t/2".to_owned()]),
            matches: Vec::new(),
            log: true,
            audit: true,
            disruptive: false,
        };
        assert_eq!(
            line(&matched),
            r#"[id "42"] [msg "a [b]"] [data "x\x22] [id \x221\x22]\x0a\x5c\xff"] [severity "CRITICAL"] [tag "t/1"] [tag "t/2"]"#
        );
    }
}
