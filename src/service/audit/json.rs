//! A JSON writer for bytes that come from strangers.
//!
//! Keys may repeat and keep their order, as the layout of ModSecurity asks for. Nothing that is written can end a line,
//! move a cursor or turn the reading direction around; bytes that are no UTF-8 become `\xHH`, readable and harmless.

/// Writes one value into a buffer.
pub(super) struct Json<'b> {
    text: &'b mut String,
    /// A comma is due before the next member or item.
    comma: bool,
}

impl<'b> Json<'b> {
    pub(super) fn new(text: &'b mut String) -> Self {
        Self { text, comma: false }
    }

    /// An object, its members written by `members`.
    pub(super) fn object(&mut self, members: impl FnOnce(&mut Self)) {
        self.within('{', '}', members);
    }

    /// An array, its items written by `items`.
    pub(super) fn array(&mut self, items: impl FnOnce(&mut Self)) {
        self.within('[', ']', items);
    }

    fn within(&mut self, open: char, close: char, inside: impl FnOnce(&mut Self)) {
        self.separate();
        self.text.push(open);
        self.comma = false;
        inside(self);
        self.text.push(close);
        self.comma = true;
    }

    /// A member's key; its value follows.
    pub(super) fn key(&mut self, key: &[u8]) -> &mut Self {
        self.separate();
        self.quoted(key);
        self.text.push(':');
        self.comma = false;
        self
    }

    pub(super) fn text(&mut self, value: impl AsRef<[u8]>) {
        self.separate();
        self.quoted(value.as_ref());
        self.comma = true;
    }

    /// A number, `true` or `false`.
    pub(super) fn plain(&mut self, value: impl std::fmt::Display) {
        self.separate();
        self.text.push_str(&value.to_string());
        self.comma = true;
    }

    fn separate(&mut self) {
        if self.comma {
            self.text.push(',');
        }
    }

    fn quoted(&mut self, value: &[u8]) {
        self.text.push('"');
        for chunk in value.utf8_chunks() {
            chunk.valid().chars().for_each(|char| self.char(char));
            for byte in chunk.invalid() {
                self.text.push_str(&format!("\\\\x{byte:02x}"));
            }
        }
        self.text.push('"');
    }

    fn char(&mut self, char: char) {
        match char {
            '"' | '\\' => self.text.extend(['\\', char]),
            '\n' => self.text.push_str("\\n"),
            '\r' => self.text.push_str("\\r"),
            '\t' => self.text.push_str("\\t"),
            _ if char.is_control() || is_formatting(char) => self.text.push_str(&format!("\\u{:04x}", u32::from(char))),
            _ => self.text.push(char),
        }
    }
}

/// Line and paragraph separators, marks that turn the reading direction around, and invisible ones.
fn is_formatting(char: char) -> bool {
    matches!(char, '\u{2028}' | '\u{2029}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_arrays_and_repeated_keys() {
        let mut text = String::new();
        Json::new(&mut text).object(|json| {
            json.key(b"a").plain(1);
            json.key(b"a").array(|json| {
                json.text("x");
                json.object(|_| {});
                json.plain(true);
            });
            json.key(b"b").object(|json| json.key(b"c").text("d"));
        });
        assert_eq!(text, r#"{"a":1,"a":["x",{},true],"b":{"c":"d"}}"#);
    }

    #[test]
    fn nothing_escapes_from_a_string() {
        let table: [(&[u8], &str); 6] = [
            (b"a\"b\\c", r#""a\"b\\c""#),
            (b"a\r\n{\"transaction\":{}}", r#""a\r\n{\"transaction\":{}}""#),
            (b"\x00\x1b[2J\x7f", r#""\u0000\u001b[2J\u007f""#),
            ("\u{85}\u{2028}\u{202e}\u{feff}".as_bytes(), r#""\u0085\u2028\u202e\ufeff""#),
            (b"a\xff\xc3(", r#""a\\xff\\xc3(""#),
            ("naïve 漢字".as_bytes(), "\"naïve 漢字\""),
        ];
        for (value, expected) in table {
            let mut text = String::new();
            Json::new(&mut text).text(value);
            assert_eq!(text, expected);
            assert!(serde_json::from_str::<String>(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn any_bytes_stay_one_line_of_json() {
        let all: Vec<u8> = (0..=255).collect();
        for window in all.windows(3) {
            let mut text = String::new();
            Json::new(&mut text).object(|json| json.key(window).text(window));
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
            assert!(!text.chars().any(char::is_control));
        }
    }
}
