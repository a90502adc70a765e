//! Settings from environment variables: our own `PORTCULLIS_…`, and those of the official CRS container images.
//!
//! Reads the environment through [`Env`]; only [`ProcessEnv`] knows the process.

use std::collections::BTreeMap;

use super::errors::nearest;
use super::keys::{POLICY, TOP};

/// A set of environment variables.
pub trait Env {
    /// All variables, by name. An empty value counts as not set.
    fn variables(&self) -> BTreeMap<String, String>;
}

impl Env for BTreeMap<String, String> {
    fn variables(&self) -> BTreeMap<String, String> {
        self.clone()
    }
}

/// The environment of this process; what is not UTF-8 is left out.
#[derive(Clone, Copy, Debug)]
pub struct ProcessEnv;

impl Env for ProcessEnv {
    fn variables(&self) -> BTreeMap<String, String> {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }
}

/// No environment at all.
#[derive(Clone, Copy, Debug)]
pub struct NoEnv;

impl Env for NoEnv {
    fn variables(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

/// How a variable's value becomes ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Convert {
    As,
    /// The words of ModSecurity's directives, in any case.
    Words(&'static [(&'static str, &'static str)]),
}

const ENGINE: Convert = Convert::Words(&[("on", "block"), ("detectiononly", "detect"), ("off", "off")]);
const AUDIT_ENGINE: Convert = Convert::Words(&[("on", "all"), ("relevantonly", "relevant"), ("off", "off")]);

/// The variables of the CRS images, in the order in which they apply: the names of CRS 3 come first, so that those that
/// replaced them win. `PARANOIA` sets both levels, as it does there. Some image versions turn the words in the names of
/// the two scores around; both spellings are taken.
const IMAGE: &[(&str, &str, Convert)] = &[
    ("PARANOIA", "crs.paranoia", Convert::As),
    ("PARANOIA", "crs.detection_paranoia", Convert::As),
    ("EXECUTING_PARANOIA", "crs.detection_paranoia", Convert::As),
    ("BLOCKING_PARANOIA", "crs.paranoia", Convert::As),
    ("DETECTION_PARANOIA", "crs.detection_paranoia", Convert::As),
    ("ANOMALY_INBOUND", "crs.inbound_threshold", Convert::As),
    ("ANOMALY_OUTBOUND", "crs.outbound_threshold", Convert::As),
    ("INBOUND_ANOMALY", "crs.inbound_threshold", Convert::As),
    ("OUTBOUND_ANOMALY", "crs.outbound_threshold", Convert::As),
    ("ENFORCE_BODYPROC_URLENCODED", "crs.tx.enforce_bodyproc_urlencoded", Convert::As),
    ("VALIDATE_UTF8_ENCODING", "crs.tx.crs_validate_utf8_encoding", Convert::As),
    ("SKIP_RESPONSE_ANALYSIS", "crs.tx.crs_skip_response_analysis", Convert::As),
    ("ALLOWED_METHODS", "crs.tx.allowed_methods", Convert::As),
    ("ALLOWED_REQUEST_CONTENT_TYPE", "crs.tx.allowed_request_content_type", Convert::As),
    ("ALLOWED_REQUEST_CONTENT_TYPE_CHARSET", "crs.tx.allowed_request_content_type_charset", Convert::As),
    ("ALLOWED_HTTP_VERSIONS", "crs.tx.allowed_http_versions", Convert::As),
    ("RESTRICTED_EXTENSIONS", "crs.tx.restricted_extensions", Convert::As),
    ("RESTRICTED_HEADERS", "crs.tx.restricted_headers", Convert::As),
    ("RESTRICTED_HEADERS_BASIC", "crs.tx.restricted_headers_basic", Convert::As),
    ("RESTRICTED_HEADERS_EXTENDED", "crs.tx.restricted_headers_extended", Convert::As),
    ("STATIC_EXTENSIONS", "crs.tx.static_extensions", Convert::As),
    ("MAX_NUM_ARGS", "crs.tx.max_num_args", Convert::As),
    ("ARG_NAME_LENGTH", "crs.tx.arg_name_length", Convert::As),
    ("ARG_LENGTH", "crs.tx.arg_length", Convert::As),
    ("TOTAL_ARG_LENGTH", "crs.tx.total_arg_length", Convert::As),
    ("MAX_FILE_SIZE", "crs.tx.max_file_size", Convert::As),
    ("COMBINED_FILE_SIZES", "crs.tx.combined_file_sizes", Convert::As),
    ("REPORTING_LEVEL", "crs.tx.reporting_level", Convert::As),
    ("SAMPLING_PERCENTAGE", "crs.tx.sampling_percentage", Convert::As),
    ("EARLY_BLOCKING", "crs.tx.early_blocking", Convert::As),
    ("MODSEC_RULE_ENGINE", "mode", ENGINE),
    ("MODSEC_AUDIT_ENGINE", "audit.when", AUDIT_ENGINE),
    ("MODSEC_AUDIT_LOG", "audit.to", Convert::As),
];

/// The prefix of our own variables.
const OURS: &str = "PORTCULLIS_";
/// The prefix of our variables that set TX variables.
const OURS_TX: &str = "PORTCULLIS_TX_";

/// A setting from the environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    /// The key, relative to the default policy or to the top.
    pub(super) key: String,
    pub(super) value: String,
}

/// A variable that looks like one of ours and is not: the name, and the one that was probably meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Misspelt {
    pub(super) name: String,
    pub(super) meant: String,
}

/// The settings in an environment, in the order in which they apply: the images' first, ours after them.
///
/// A variable with our prefix that is near to none of our names is somebody else's: Kubernetes sets
/// `PORTCULLIS_SERVICE_HOST` and its like wherever a service is called so.
pub(super) fn settings(env: &dyn Env) -> (Vec<Variable>, Vec<Misspelt>) {
    let mut variables = env.variables();
    variables.retain(|_, value| !value.is_empty());
    let mut settings: Vec<Variable> = IMAGE.iter().filter_map(|row| image_variable(row, &variables)).collect();
    let mut misspelt = Vec::new();
    let names = our_names();
    for (name, value) in variables.iter().filter(|(name, _)| name.starts_with(OURS)) {
        match our_key(name, &names) {
            Ok(key) => settings.push(Variable { name: name.clone(), key, value: value.clone() }),
            Err(Some(meant)) => misspelt.push(Misspelt { name: name.clone(), meant }),
            Err(None) => {}
        }
    }
    (settings, misspelt)
}

fn image_variable(row: &(&str, &str, Convert), variables: &BTreeMap<String, String>) -> Option<Variable> {
    let (name, key, convert) = *row;
    let value = variables.get(name)?;
    let value = match convert {
        Convert::As => value.clone(),
        Convert::Words(words) => {
            let known = words.iter().find(|(theirs, _)| theirs.eq_ignore_ascii_case(value));
            known.map_or_else(|| value.clone(), |(_, ours)| (*ours).to_owned())
        }
    };
    Some(Variable { name: name.to_owned(), key: key.to_owned(), value })
}

/// Our variables and their keys.
fn our_names() -> Vec<(String, &'static str)> {
    let paths = TOP.iter().map(|key| key.path).chain(POLICY.iter().map(|key| key.path));
    paths.filter(|path| *path != "crs.tx").map(|path| (name_of(path), path)).collect()
}

/// The environment variable that sets a key: `PORTCULLIS_LISTEN_EXT_AUTHZ` for `listen.ext_authz`.
pub(super) fn name_of(path: &str) -> String {
    format!("{OURS}{}", path.replace('.', "_").to_ascii_uppercase())
}

fn our_key(name: &str, names: &[(String, &str)]) -> Result<String, Option<String>> {
    if let Some(variable) = name.strip_prefix(OURS_TX) {
        return Ok(format!("crs.tx.{}", variable.to_ascii_lowercase()));
    }
    match names.iter().find(|(known, _)| known == name) {
        Some((_, path)) => Ok((*path).to_owned()),
        None => {
            let rest = |name: &str| name.strip_prefix(OURS).unwrap_or_default().to_owned();
            let known: Vec<String> = names.iter().map(|(known, _)| rest(known)).collect();
            Err(nearest(&rest(name), known.iter().map(String::as_str)).map(|meant| format!("{OURS}{meant}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn keys(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        settings(&env(pairs)).0.into_iter().map(|variable| (variable.key, variable.value)).collect()
    }

    #[test]
    fn names_and_values() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(keys(&[("PARANOIA", "3")]), [pair("crs.paranoia", "3"), pair("crs.detection_paranoia", "3")]);
        assert_eq!(keys(&[("MODSEC_RULE_ENGINE", "DetectionOnly")]), [pair("mode", "detect")]);
        assert_eq!(keys(&[("PORTCULLIS_LISTEN_EXT_AUTHZ", "0.0.0.0:1")]), [pair("listen.ext_authz", "0.0.0.0:1")]);
        assert_eq!(keys(&[("PORTCULLIS_TX_ARG_LENGTH", "9")]), [pair("crs.tx.arg_length", "9")]);
        assert_eq!(keys(&[("PORTCULLIS_MODE", ""), ("HOME", "/root")]), []);
        let both = keys(&[("DETECTION_PARANOIA", "4"), ("PARANOIA", "2"), ("PORTCULLIS_CRS_PARANOIA", "1")]);
        assert_eq!(both.last(), Some(&pair("crs.paranoia", "1")), "ours come last");
        assert_eq!(both.iter().rfind(|(key, _)| key == "crs.detection_paranoia").unwrap().1, "4");
    }

    #[test]
    fn misspelt_and_foreign_names() {
        let (settings, misspelt) = settings(&env(&[
            ("PORTCULLIS_LISTEN_EXTAUTHZ", "x"),
            ("PORTCULLIS_SERVICE_HOST", "10.0.0.1"),
            ("PORTCULLIS_SERVICE_PORT", "9191"),
            ("PORTCULLIS_PORT", "tcp://10.0.0.1:9191"),
            ("PORTCULLIS_PORT_9191_TCP_ADDR", "10.0.0.1"),
            ("PORTCULLIS_CONFIG", "/etc/portcullis.yaml"),
            ("PORTCULLIS_LOG", "debug"),
        ]));
        assert_eq!(settings, []);
        let meant: Vec<_> = misspelt.iter().map(|misspelt| misspelt.meant.as_str()).collect();
        assert_eq!(meant, ["PORTCULLIS_LISTEN_EXT_AUTHZ"]);
    }
}
