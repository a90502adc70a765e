//! Code page maps for `urlDecodeUni`: which single byte stands best for a code point.

/// A code page's best-fit map from code points to single bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnicodeMap {
    /// INVARIANT: sorted by code point, each code point once.
    entries: Vec<(u16, u8)>,
}

/// Code page 20127 as runs of neighbouring code points: the first one, and the bytes of all in order.
const CODE_PAGE_20127: [(u16, &[u8]); 56] = [
    (0x00a0, b" !c"),
    (0x00a4, b"$Y|"),
    (0x00a9, b"Ca<"),
    (0x00ad, b"-R"),
    (0x00b2, b"23"),
    (0x00b7, b".,1o>"),
    (0x00c0, b"AAAAAAACEEEEIIIIDNOOOOO"),
    (0x00d8, b"OUUUUY"),
    (0x00e0, b"aaaaaaaceeeeiiii"),
    (0x00f1, b"nooooo"),
    (0x00f8, b"ouuuuy"),
    (0x00ff, b"yAaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIi"),
    (0x0134, b"JjKk"),
    (0x0139, b"LlLlLl"),
    (0x0141, b"LlNnNnNn"),
    (0x014c, b"OoOoOoOoRrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZ"),
    (0x017b, b"ZzZz"),
    (0x0180, b"b"),
    (0x0189, b"D"),
    (0x0191, b"Ff"),
    (0x0197, b"I"),
    (0x019a, b"l"),
    (0x019f, b"OOo"),
    (0x01ab, b"t"),
    (0x01ae, b"TUu"),
    (0x01b6, b"z"),
    (0x01cd, b"AaIiOoUuUuUuUuUu"),
    (0x01de, b"Aa"),
    (0x01e4, b"GgGgKkOoOo"),
    (0x01f0, b"j"),
    (0x0261, b"g"),
    (0x02b9, b"'\""),
    (0x02bc, b"'"),
    (0x02c4, b"^"),
    (0x02c6, b"^"),
    (0x02c8, b"'"),
    (0x02cb, b"`"),
    (0x02cd, b"_"),
    (0x02dc, b"~"),
    (0x0300, b"`"),
    (0x0302, b"^~"),
    (0x030e, b"\""),
    (0x0331, b"__"),
    (0x2000, b"       "),
    (0x2010, b"--"),
    (0x2013, b"--"),
    (0x2018, b"'',"),
    (0x201c, b"\"\"\""),
    (0x2022, b"."),
    (0x2026, b"."),
    (0x2032, b"'"),
    (0x2035, b"`"),
    (0x2039, b"<>"),
    (0x2122, b"T"),
    (0xff01, b"!\"#$%&'()*+,-./0123456789:;<=>"),
    (0xff20, b"@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"),
];

impl UnicodeMap {
    /// The built-in map of code page 20127 (US-ASCII), the one the CRS's own container images load.
    ///
    /// ```
    /// use portcullis::vocab::transformations::UnicodeMap;
    ///
    /// assert_eq!(UnicodeMap::code_page_20127().get(0x2019), Some(b'\''));
    /// ```
    pub fn code_page_20127() -> Self {
        let entries = CODE_PAGE_20127.iter().flat_map(|(first, bytes)| (*first..).zip(bytes.iter().copied()));
        Self { entries: entries.collect() }
    }

    /// Reads one code page from the text of a `SecUnicodeMapFile`: a line that begins with the page's number opens it,
    /// and pairs such as `00a1:21` follow, on that line too, until a line opens another page.
    ///
    /// # Errors
    /// A message to a person: the page is not there, or a pair in it is malformed.
    pub fn parse(text: &[u8], code_page: u32) -> Result<Self, String> {
        let mut entries = Vec::new();
        let mut inside = false;
        let mut found = false;
        for line in text.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii) {
            let (page, pairs) = split_line(line);
            if let Some(page) = page {
                inside = page_number(page) == Some(code_page);
                found |= inside;
            }
            if inside {
                read_pairs(pairs, &mut entries)?;
            }
        }
        if !found {
            return Err(format!("the file holds no code page `{code_page}`"));
        }
        entries.sort_by_key(|(code, _)| *code);
        entries.dedup_by_key(|(code, _)| *code);
        Ok(Self { entries })
    }

    /// The byte for a code point, if the map holds it.
    pub fn get(&self, code: u16) -> Option<u8> {
        let place = self.entries.binary_search_by_key(&code, |(code, _)| *code).ok()?;
        self.entries.get(place).map(|(_, byte)| *byte)
    }
}

/// The page that a line opens, if it opens one, and the pairs in it. In reduced files pairs follow on the page's line.
fn split_line(line: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let is_pair = |word: &[u8]| word.contains(&b':');
    let first = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    if first.is_empty() || is_pair(first) {
        return (None, line);
    }
    let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
    let before = line.get(..colon).unwrap_or_default();
    let pairs = before.iter().rposition(u8::is_ascii_whitespace).filter(|_| colon < line.len()).unwrap_or(line.len());
    (Some(line), line.get(pairs..).unwrap_or_default())
}

fn page_number(line: &[u8]) -> Option<u32> {
    let word = line.split(u8::is_ascii_whitespace).next()?;
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn read_pairs(line: &[u8], entries: &mut Vec<(u16, u8)>) -> Result<(), String> {
    for word in line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
        let word = String::from_utf8_lossy(word);
        let pair = word
            .split_once(':')
            .and_then(|(code, byte)| Some((u16::from_str_radix(code, 16).ok()?, u8::from_str_radix(byte, 16).ok()?)));
        entries.push(pair.ok_or_else(|| format!("`{word}` is not a pair such as `00a1:21`"))?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] =
        b"(MAC)\n\n1250  (ANSI)\n00a1:21 00a2:63\n\n20127 (US-ASCII)\r\n2019:27 00e9:65 \n00e8:65\n\n28591\n00a1:a1\n";

    #[test]
    fn a_page_is_found_by_its_number() {
        let map = UnicodeMap::parse(FILE, 20127).unwrap();
        assert_eq!(map.entries, [(0xe8, b'e'), (0xe9, b'e'), (0x2019, b'\'')]);
        assert_eq!(UnicodeMap::parse(FILE, 1250).unwrap().get(0xa2), Some(b'c'));
    }

    #[test]
    fn pairs_may_follow_on_the_line_of_the_page() {
        let map = UnicodeMap::parse(b"1251 0434:64 043e:6f\n1252 (x) 00a1:21 00a2:63\n00a3:4c\n", 1251).unwrap();
        assert_eq!(map.entries, [(0x434, b'd'), (0x43e, b'o')]);
        let map = UnicodeMap::parse(b"1251 0434:64 043e:6f\n1252 (x) 00a1:21 00a2:63\n00a3:4c\n", 1252).unwrap();
        assert_eq!(map.entries, [(0xa1, b'!'), (0xa2, b'c'), (0xa3, b'L')]);
    }

    #[test]
    fn what_is_missing_or_malformed_is_named() {
        assert_eq!(UnicodeMap::parse(FILE, 7).unwrap_err(), "the file holds no code page `7`");
        let error = UnicodeMap::parse(b"7\n00a1:xx", 7).unwrap_err();
        assert_eq!(error, "`00a1:xx` is not a pair such as `00a1:21`");
    }

    #[test]
    fn the_built_in_map_is_sorted() {
        let entries = UnicodeMap::code_page_20127().entries;
        assert_eq!(entries.len(), 370);
        assert!(entries.is_sorted_by(|a, b| a.0 < b.0));
    }
}
