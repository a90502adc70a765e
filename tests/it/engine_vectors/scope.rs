//! Which cases a request-only engine without storage and scripts can be asked about at all: by file, and by what the
//! rules of some cases hold. Rules of phases 3 and 4 that read only the request are in scope.

use super::case::Case;

/// Files of which no case is, with the reason.
const FILES: &[(&str, &str)] = &[
    ("action-exec.json", "scripts"),
    ("action-expirevar.json", "persistent storage"),
    ("action-initcol.json", "persistent storage"),
    ("action-setrsc.json", "persistent storage"),
    ("action-setsid.json", "persistent storage"),
    ("action-setuid.json", "persistent storage"),
    ("action-skip.json", "persistent storage, read as a probe"),
    ("collection-lua.json", "scripts"),
    ("collection-regular_expression_selection.json", "persistent storage, read as a probe"),
    ("collection-resource.json", "persistent storage"),
    ("config-response_type.json", "responses"),
    ("config-secremoterules.json", "rules from the network"),
    ("config-xml_external_entity.json", "external entities"),
    ("directive-sec_rule_script.json", "scripts"),
    ("fn-setHostname.json", "a function of the library's interface"),
    ("issue-1831.json", "persistent storage"),
    ("issue-2427.json", "responses"),
    ("issue-394.json", "persistent storage"),
    ("operator-fuzzyhash.json", "@fuzzyHash"),
    ("operator-inpectFile.json", "@inspectFile"),
    ("request-body-parser-xml-validade-dtd.json", "DTD"),
    ("request-body-parser-xml.json", "DTD and schema"),
    ("variable-GEO.json", "geo data"),
    ("variable-OUTBOUND_DATA_ERROR.json", "responses"),
    ("variable-RESPONSE_BODY.json", "responses"),
    ("variable-RESPONSE_CONTENT_LENGTH.json", "responses"),
    ("variable-RESPONSE_CONTENT_TYPE.json", "responses"),
    ("variable-RESPONSE_HEADERS.json", "responses"),
    ("variable-RESPONSE_HEADERS_NAMES.json", "responses"),
    ("variable-RESPONSE_PROTOCOL.json", "responses"),
    ("variable-SESSIONID.json", "persistent storage"),
    ("variable-STATUS.json", "responses"),
    ("variable-USERID.json", "persistent storage"),
    ("variable-WEBSERVER_ERROR_LOG.json", "the error log of a web server"),
];

/// In these files, cases whose rule text holds the second word are not.
const TEXTS: &[(&str, &str, &str)] = &[
    ("actions.json", "SecResponseBody", "responses"),
    ("config-body_limits.json", "SecResponseBody", "responses"),
    ("config-calling_phases_by_name.json", "SecResponseBody", "responses"),
    ("issue-1152.json", "initcol:", "persistent storage"),
    ("operator-ipMatchFromFile.json", "https://", "data from the network"),
    ("variable-RULE.json", "setvar:'ip.", "persistent storage"),
    ("variable-TX.json", "RESPONSE_BODY", "responses"),
];

/// Why the case is out of scope.
pub(super) fn outside(case: &Case) -> Option<&'static str> {
    let whole = FILES.iter().find(|(file, _)| *file == case.file).map(|(_, reason)| *reason);
    let mut texts = TEXTS.iter().filter(|(file, word, _)| *file == case.file && case.rules.contains(word));
    whole.or_else(|| texts.next().map(|(_, _, reason)| *reason))
}
