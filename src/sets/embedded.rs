//! The rule files that are part of the binary. Knows names and bytes, not what they mean.

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The content of a file, by its path below `rules/`: `portcullis.conf`, `crs/rules/….conf`.
pub fn get(name: &str) -> Option<&'static [u8]> {
    FILES.binary_search_by_key(&name, |(path, _)| path).ok().and_then(|at| FILES.get(at)).map(|(_, bytes)| *bytes)
}

/// Every file below a folder (written with its `/` at the end), sorted by path.
pub fn below(folder: &str) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    FILES.iter().copied().filter(move |(path, _)| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_files_are_there_and_found_by_name() {
        assert!(FILES.is_sorted_by_key(|(path, _)| *path));
        for name in ["portcullis.conf", "crs-setup.conf", "crs-4.28.0.sha256"] {
            assert!(get(name).is_some_and(|bytes| !bytes.is_empty()), "{name}");
        }
        assert!(get("fetch-crs").is_none() && get("embed.rs").is_none() && get("").is_none());
    }

    #[test]
    fn tests_and_tools_of_the_crs_stay_out() {
        let strange = |path: &str| path.contains("/tests/") || path.ends_with(".yaml") || path.ends_with(".py");
        assert_eq!(below("crs/").filter(|(path, _)| strange(path)).count(), 0);
    }
}
