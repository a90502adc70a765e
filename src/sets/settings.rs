//! A policy's settings as SecLang text: engine directives, and `setvar` actions for the CRS.
//!
//! Values are quoted so that they cannot become anything but a value; what cannot be quoted is an error.

use std::fmt::Write as _;

use crate::config::{AuditWhen, CrsSettings, Mode, OnFailure, Policy};

/// The first id of the generated actions.
const FIRST_ID: u32 = 9_899_000;

/// The id of the rule that refuses a DOCTYPE.
const DOCTYPE_ID: u32 = 9_898_000;

/// The directives a policy decides, with the policy's values: name, value, the setting it comes from.
pub fn engine(policy: &Policy) -> Vec<(&'static str, String, String)> {
    let mode = match policy.mode {
        Mode::Block => ("On", "block"),
        Mode::Detect => ("DetectionOnly", "detect"),
        Mode::Off => ("Off", "off"),
    };
    let over_limit = match policy.body.over_limit {
        OnFailure::Deny => ("Reject", "deny"),
        OnFailure::Allow => ("ProcessPartial", "allow"),
    };
    let audit = match policy.audit.when {
        AuditWhen::Off => ("Off", "off"),
        AuditWhen::Relevant => ("RelevantOnly", "relevant"),
        AuditWhen::All => ("On", "all"),
    };
    let limit = policy.body.limit.to_string();
    let row = |name, (value, key): (&str, &str), setting: &str| (name, value.to_owned(), format!("{setting}: {key}"));
    vec![
        row("SecRuleEngine", mode, "mode"),
        row("SecRequestBodyLimit", (&limit, &limit), "body.limit"),
        row("SecRequestBodyLimitAction", over_limit, "body.over_limit"),
        row("SecAuditEngine", audit, "audit.when"),
    ]
}

/// What a policy changes in the engine's recommended set-up, beyond [`engine`]: one limit holds for all bodies, and
/// with `undecodable: allow` the rule that refuses broken bodies records them only.
pub fn set_up_changes(policy: &Policy) -> String {
    let mut text = format!("SecRequestBodyNoFilesLimit {}\n", policy.body.limit);
    if policy.body.undecodable == OnFailure::Allow {
        text.push_str("SecRuleUpdateActionById 200002 \"pass\"\n");
    }
    text
}

/// With `body.doctype: deny`, XML with a DOCTYPE is an error, and refused even where broken bodies are not.
pub fn doctype(policy: &Policy) -> String {
    if policy.body.doctype == OnFailure::Allow {
        return String::new();
    }
    format!(
        "SecXmlDoctype Refuse\nSecRule REQBODY_PROCESSOR_ERROR_MSG \"@contains DOCTYPE is refused\" \"id:{DOCTYPE_ID},\
         phase:2,deny,status:400,log,auditlog,t:none,msg:'The XML body has a DOCTYPE',severity:'CRITICAL'\"\n"
    )
}

/// The CRS settings as one `SecAction` each. Some variables had another name in 3.x, which is set too unless the
/// version is known to be newer.
///
/// # Errors
/// Every setting that cannot be written, or that would make the CRS refuse all requests.
pub fn transaction_variables(crs: &CrsSettings, version: Option<&str>) -> Result<String, Vec<String>> {
    let old_names = version.is_none_or(|version| version.starts_with("3."));
    let mut text = String::new();
    let mut errors = Vec::from_iter(levels_that_refuse_everything(crs));
    for (id, (name, value)) in (FIRST_ID..).zip(variables(crs, old_names)) {
        match action(id, &name, &value) {
            Ok(line) => text.push_str(&line),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(text) } else { Err(errors) }
}

/// The content types a policy allows whose bodies the engine's set-up hands to no parser (forms are known by their
/// type; for the others see the rules 200000, 200001 and 200006).
pub fn types_without_parser(crs: &CrsSettings) -> Vec<String> {
    let allowed = crs.tx.iter().filter(|(name, _)| name.eq_ignore_ascii_case("allowed_request_content_type"));
    let types = allowed.flat_map(|(_, value)| value.split(['|', ' '])).filter(|name| !name.is_empty());
    types.map(str::to_ascii_lowercase).filter(|name| !has_parser(name)).collect()
}

fn has_parser(content_type: &str) -> bool {
    const PARSED: [&str; 6] = [
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/json",
        "application/xml",
        "application/soap+xml",
        "text/xml",
    ];
    PARSED.contains(&content_type) || (content_type.starts_with("application/") && content_type.ends_with("+json"))
}

/// Rule 901500 answers 500 to everything when the detection level is below the blocking level.
fn levels_that_refuse_everything(crs: &CrsSettings) -> Option<String> {
    let (blocking, detection) = (crs.paranoia?, crs.detection_paranoia?);
    (detection < blocking).then(|| {
        format!(
            "crs.detection_paranoia: `{detection}` is below crs.paranoia `{blocking}`, so the CRS would refuse every \
             request; raise it to {blocking} or leave it out"
        )
    })
}

fn variables(crs: &CrsSettings, old_names: bool) -> Vec<(String, String)> {
    let level = |level: Option<u8>| level.map(u32::from);
    let named = [
        ("blocking_paranoia_level", level(crs.paranoia), true),
        ("paranoia_level", level(crs.paranoia), old_names),
        ("detection_paranoia_level", level(crs.detection_paranoia), true),
        ("executing_paranoia_level", level(crs.detection_paranoia), old_names),
        ("inbound_anomaly_score_threshold", crs.inbound_threshold, true),
        ("outbound_anomaly_score_threshold", crs.outbound_threshold, true),
    ];
    let named = named.into_iter().filter(|(_, _, wanted)| *wanted);
    let named = named.filter_map(|(name, value, _)| Some((name.to_owned(), value?.to_string())));
    named.chain(crs.tx.iter().map(|(name, value)| (name.clone(), value.clone()))).collect()
}

fn action(id: u32, name: &str, value: &str) -> Result<String, String> {
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.is_empty() || !name.bytes().all(is_name_byte) {
        return Err(format!("tx.{name}: `{name}` is no name of a variable; use letters, digits, `_`, `-` and `.`"));
    }
    if value.bytes().any(|byte| byte.is_ascii_control()) {
        return Err(format!("tx.{name}: the value holds a control character, which SecLang cannot express"));
    }
    // A backslash before a quote, ours at the end included, would change what the quote means.
    if value.contains("\\'") || value.contains("\\\"") || value.ends_with('\\') {
        return Err(format!(
            "tx.{name}: the value `{value}` has a `\\` before a quote or at its end, which SecLang cannot express"
        ));
    }
    let mut line = format!("SecAction \"id:{id},phase:1,pass,nolog,t:none,setvar:'tx.{name}=");
    for char in value.chars() {
        match char {
            '\'' | '"' => line.extend(['\\', char]),
            _ => line.push(char),
        }
    }
    let _ = writeln!(line, "'\"");
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_nobody_parses() {
        let table = [
            ("", ""),
            ("|application/x-www-form-urlencoded| |multipart/form-data| |text/xml| |application/xml|", ""),
            ("|application/soap+xml| |application/json| |Application/Activity+JSON|", ""),
            ("|application/json| |text/plain| |Multipart/Related|", "text/plain multipart/related"),
            ("application/octet-stream", "application/octet-stream"),
        ];
        for (value, expected) in table {
            let tx = [("Allowed_Request_Content_Type".to_owned(), value.to_owned())].into();
            let found = types_without_parser(&CrsSettings { tx, ..CrsSettings::default() });
            assert_eq!(found.join(" "), expected, "{value}");
        }
    }

    fn tx(name: &str, value: &str) -> CrsSettings {
        CrsSettings { tx: [(name.to_owned(), value.to_owned())].into(), ..CrsSettings::default() }
    }

    #[test]
    fn nothing_set_is_nothing_written() {
        assert_eq!(transaction_variables(&CrsSettings::default(), None), Ok(String::new()));
    }

    #[test]
    fn old_names_are_set_unless_the_version_is_new() {
        let crs = CrsSettings { paranoia: Some(2), detection_paranoia: Some(3), ..CrsSettings::default() };
        let count = |version| transaction_variables(&crs, version).unwrap().lines().count();
        assert_eq!((count(Some("4.28.0")), count(Some("3.3.10")), count(None)), (2, 4, 4));
        let text = transaction_variables(&crs, Some("4.28.0")).unwrap();
        let expected = "SecAction \"id:9899000,phase:1,pass,nolog,t:none,setvar:'tx.blocking_paranoia_level=2'\"\n";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn values_stay_values() {
        let cases = [
            ("GET HEAD", "GET HEAD"),
            ("|text/xml| |a,b|", "|text/xml| |a,b|"),
            ("it's", "it\\'s"),
            ("a\",deny", "a\\\",deny"),
            (r"a\d", r"a\d"),
        ];
        for (value, written) in cases {
            let text = transaction_variables(&tx("x", value), None).unwrap();
            assert!(text.contains(&format!("'tx.x={written}'\"\n")), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        for (name, value) in [("x", "a\nb"), ("x", "a\\"), ("x", "\\'"), ("x,y", "1"), ("", "1"), ("x'", "1")] {
            let errors = transaction_variables(&tx(name, value), None).unwrap_err();
            assert_eq!(errors.len(), 1, "{name}={value}");
        }
    }

    #[test]
    fn levels_under_which_nothing_passes_are_refused() {
        let crs = CrsSettings { paranoia: Some(3), detection_paranoia: Some(2), ..CrsSettings::default() };
        let errors = transaction_variables(&crs, None).unwrap_err();
        assert!(errors[0].contains("raise it to 3"), "{errors:?}");
    }
}
