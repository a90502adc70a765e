//! The set-up under which the tests of the CRS are meant to run.

use crate::config::{CrsSettings, Mode, Policy};

/// Values of the CRS's own regression set-up, besides the paranoia level: tests send just more than these limits.
/// Attributes of XML are looked at by choice in 3.3, and always in 4.
const SETTINGS: [(&str, &str); 8] = [
    ("arg_name_length", "100"),
    ("arg_length", "400"),
    ("total_arg_length", "64000"),
    ("max_num_args", "255"),
    ("max_file_size", "64100"),
    ("combined_file_sizes", "65535"),
    ("crs_validate_utf8_encoding", "1"),
    ("crs_xml_attr_inspect", "1"),
];

/// The policy for a rule set named as in `--rules`: detection only, paranoia level 4, the settings that tests rely on.
/// A set named by the path of its entry file says all by itself, so it gets the default policy.
pub fn policy(rules: Option<&str>) -> Policy {
    let named = Policy { rules: rules.map(str::to_owned), ..Policy::default() };
    if rules.is_some_and(is_entry_file) {
        return named;
    }
    let tx = SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let crs = CrsSettings { paranoia: Some(4), detection_paranoia: Some(4), tx, ..CrsSettings::default() };
    Policy { mode: Mode::Detect, crs, ..named }
}

fn is_entry_file(rules: &str) -> bool {
    !matches!(rules, "crs" | "baseline") && !rules.starts_with("crs@")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_file_is_taken_as_it_is() {
        for (rules, mode) in [
            (None, Mode::Detect),
            (Some("crs"), Mode::Detect),
            (Some("crs@3.3.10"), Mode::Detect),
            (Some("baseline"), Mode::Detect),
            (Some("crs/main.conf"), Policy::default().mode),
        ] {
            let policy = policy(rules);
            assert_eq!((policy.rules.as_deref(), policy.mode), (rules, mode));
            assert_eq!(policy.crs.paranoia.is_some(), mode == Mode::Detect, "{rules:?}");
        }
    }
}
