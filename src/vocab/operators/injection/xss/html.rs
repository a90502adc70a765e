//! Cuts a value into the tokens of HTML as a browser does, with what old browsers do besides: NUL is ignored in the names of
//! tags and is white space elsewhere, a backquote quotes, `<%` begins a comment.
//!
//! Knows no name of a tag or attribute. A state is a method; one that knows where the next token ends returns it, one that
//! does not returns the state to go on in.

use super::super::scan::{self, ByteTable};

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Text,
    /// The name of a tag that opens, or of one that closes with attributes.
    TagName,
    /// The name of a tag that closes.
    ClosingTag,
    /// `>`.
    TagEnd,
    /// `/>`.
    SelfClosingEnd,
    AttributeName,
    AttributeValue,
    Comment,
    Doctype,
}

/// A token and its text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a [u8],
}

/// Where in HTML a value begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Context {
    /// Between tags.
    Text,
    /// Within a tag, after a value without quotes.
    Tag,
    /// Within a value that this quote ends.
    Quoted(u8),
}

#[derive(Clone, Copy)]
enum State {
    Text,
    AfterLess,
    TagEnd,
    AfterSlash,
    BeforeName,
    AfterName,
    BeforeValue,
    Quoted(u8),
    End,
}

enum Step<'a> {
    /// A token; the state says how to go on.
    Token(Token<'a>),
    /// None yet.
    Go,
    /// None any more.
    Stop,
}

/// The tokens of a value.
pub(super) struct Tokens<'a> {
    input: &'a [u8],
    at: usize,
    state: State,
    /// Whether a `</` was met whose `>` was not. `</>` leaves it so, and the next tag counts as a closing one.
    closing: bool,
}

/// White space. NUL is some to old browsers.
static WHITE: ByteTable = ByteTable::of(b" \t\n\x0b\x0c\r\0");
static TAG_NAME_END: ByteTable = ByteTable::of(b" \t\n\x0b\x0c\r/>");
static ATTRIBUTE_NAME_END: ByteTable = ByteTable::of(b" \t\n\x0b\x0c\r\0/=>");
static VALUE_END: ByteTable = ByteTable::of(b" \t\n\x0b\x0c\r\0>");

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            match self.step() {
                Step::Token(token) => return Some(token),
                Step::Go => {}
                Step::Stop => return None,
            }
        }
    }
}

impl<'a> Tokens<'a> {
    pub(super) const fn new(input: &'a [u8], context: Context) -> Self {
        let state = match context {
            Context::Text => State::Text,
            Context::Tag => State::BeforeName,
            Context::Quoted(quote) => State::Quoted(quote),
        };
        Self { input, at: 0, state, closing: false }
    }

    fn step(&mut self) -> Step<'a> {
        scan::steps::add(1);
        match self.state {
            State::Text => self.text(),
            State::AfterLess => self.after_less(),
            State::TagEnd => self.tag_end(),
            State::AfterSlash => self.after_slash(),
            State::BeforeName => self.before_name(),
            State::AfterName => self.after_name(),
            State::BeforeValue => self.before_value(),
            State::Quoted(quote) => self.quoted(self.at, quote),
            State::End => Step::Stop,
        }
    }

    fn go(&mut self, skipped: usize, state: State) -> Step<'a> {
        self.at += skipped;
        self.state = state;
        Step::Go
    }

    /// A token over these bytes; reading goes on at `next`.
    fn token(&mut self, kind: Kind, start: usize, end: usize, next: usize, state: State) -> Step<'a> {
        self.at = next;
        self.state = state;
        Step::Token(Token { kind, text: scan::part(self.input, start..end) })
    }

    /// A token up to the end of the value.
    fn last(&mut self, kind: Kind) -> Step<'a> {
        let end = self.input.len();
        self.token(kind, self.at, end, end, State::End)
    }

    /// A token up to these bytes, which are no part of it.
    fn up_to(&mut self, kind: Kind, mark: &[u8], state: State) -> Step<'a> {
        match scan::find_all(self.input, self.at, mark) {
            Some(end) => self.token(kind, self.at, end, end + mark.len(), state),
            None => self.last(kind),
        }
    }

    fn byte(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    /// The next byte that is no white space. FF passes for the end, as a signed byte of that value is the C library's mark
    /// for it.
    fn skip_white(&mut self) -> Option<u8> {
        self.at = scan::skip(self.input, self.at, &WHITE);
        self.byte().filter(|byte| *byte != 0xff)
    }

    fn text(&mut self) -> Step<'a> {
        match scan::find(self.input, self.at, b'<') {
            Some(less) if less == self.at => self.go(1, State::AfterLess),
            Some(less) => self.token(Kind::Text, self.at, less, less + 1, State::AfterLess),
            None if self.at < self.input.len() => self.last(Kind::Text),
            None => Step::Stop,
        }
    }

    fn after_less(&mut self) -> Step<'a> {
        let Some(byte) = self.byte() else { return Step::Stop };
        match byte {
            b'!' => {
                self.at += 1;
                self.declaration()
            }
            b'/' => {
                self.at += 1;
                self.closing = true;
                self.after_less_slash()
            }
            b'?' => {
                self.at += 1;
                self.up_to(Kind::Comment, b">", State::Text)
            }
            b'%' => {
                self.at += 1;
                self.up_to(Kind::Comment, b"%>", State::Text)
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'\0' => self.tag_name(),
            _ => self.token(Kind::Text, self.at - 1, self.at, self.at, State::Text),
        }
    }

    fn after_less_slash(&mut self) -> Step<'a> {
        let Some(byte) = self.byte() else { return Step::Stop };
        match byte {
            b'>' => self.go(0, State::Text),
            b'a'..=b'z' | b'A'..=b'Z' => self.tag_name(),
            _ => {
                self.closing = false;
                self.up_to(Kind::Comment, b">", State::Text)
            }
        }
    }

    fn declaration(&mut self) -> Step<'a> {
        let rest = scan::from(self.input, self.at);
        if rest.get(..7).is_some_and(|name| name.eq_ignore_ascii_case(b"DOCTYPE")) {
            return self.up_to(Kind::Doctype, b">", State::Text);
        }
        if rest.starts_with(b"[CDATA[") {
            self.at += 7;
            return self.up_to(Kind::Text, b"]]>", State::Text);
        }
        if rest.starts_with(b"--") {
            self.at += 2;
            return self.comment();
        }
        self.up_to(Kind::Comment, b">", State::Text)
    }

    /// A comment ends at `-->` or `-!>`, with any number of NULs after the first dash.
    fn comment(&mut self) -> Step<'a> {
        let mut from = self.at;
        while let Some(dash) = scan::find(self.input, from, b'-') {
            static NUL: ByteTable = ByteTable::of(b"\0");
            let second = scan::skip(self.input, dash + 1, &NUL);
            if let [b'-' | b'!', b'>', ..] = scan::from(self.input, second) {
                return self.token(Kind::Comment, self.at, dash, second + 2, State::Text);
            }
            // NULs hold no dash: to skip them keeps this linear.
            from = second;
        }
        self.last(Kind::Comment)
    }

    fn tag_name(&mut self) -> Step<'a> {
        let end = scan::skip_until(self.input, self.at, &TAG_NAME_END);
        match self.input.get(end) {
            None => self.last(Kind::TagName),
            Some(b'/') => self.token(Kind::TagName, self.at, end, end + 1, State::AfterSlash),
            Some(b'>') if self.closing => {
                self.closing = false;
                self.token(Kind::ClosingTag, self.at, end, end + 1, State::Text)
            }
            Some(b'>') => self.token(Kind::TagName, self.at, end, end, State::TagEnd),
            Some(_) => self.token(Kind::TagName, self.at, end, end + 1, State::BeforeName),
        }
    }

    /// The `>` that ends a tag.
    fn tag_end(&mut self) -> Step<'a> {
        self.closing = false;
        self.token(Kind::TagEnd, self.at, self.at + 1, self.at + 1, State::Text)
    }

    fn after_slash(&mut self) -> Step<'a> {
        match self.byte() {
            None => Step::Stop,
            Some(b'>') => self.token(Kind::SelfClosingEnd, self.at - 1, self.at + 1, self.at + 1, State::Text),
            Some(_) => self.go(0, State::BeforeName),
        }
    }

    fn before_name(&mut self) -> Step<'a> {
        match self.skip_white() {
            None => Step::Stop,
            Some(b'/') => self.go(1, State::AfterSlash),
            // Unlike elsewhere a closing tag stays open.
            Some(b'>') => self.token(Kind::TagEnd, self.at, self.at + 1, self.at + 1, State::Text),
            Some(_) => self.name(),
        }
    }

    /// The name of an attribute, of any bytes; the first may even be `=`.
    fn name(&mut self) -> Step<'a> {
        let (start, end) = (self.at, scan::skip_until(self.input, self.at + 1, &ATTRIBUTE_NAME_END));
        let (next, state) = match self.input.get(end) {
            None => return self.last(Kind::AttributeName),
            Some(b'/') => (end + 1, State::AfterSlash),
            Some(b'=') => (end + 1, State::BeforeValue),
            Some(b'>') => (end, State::TagEnd),
            Some(_) => (end + 1, State::AfterName),
        };
        self.token(Kind::AttributeName, start, end, next, state)
    }

    fn after_name(&mut self) -> Step<'a> {
        match self.skip_white() {
            None => Step::Stop,
            Some(b'/') => self.go(1, State::AfterSlash),
            Some(b'=') => self.go(1, State::BeforeValue),
            Some(b'>') => self.tag_end(),
            Some(_) => self.name(),
        }
    }

    fn before_value(&mut self) -> Step<'a> {
        match self.skip_white() {
            None => Step::Stop,
            Some(quote @ (b'"' | b'\'' | b'`')) => self.quoted(self.at + 1, quote),
            Some(_) => self.unquoted(),
        }
    }

    fn quoted(&mut self, start: usize, quote: u8) -> Step<'a> {
        self.at = start;
        self.up_to(Kind::AttributeValue, &[quote], State::BeforeName)
    }

    fn unquoted(&mut self) -> Step<'a> {
        let end = scan::skip_until(self.input, self.at, &VALUE_END);
        match self.input.get(end) {
            None => self.last(Kind::AttributeValue),
            Some(b'>') => self.token(Kind::AttributeValue, self.at, end, end, State::TagEnd),
            Some(_) => self.token(Kind::AttributeValue, self.at, end, end + 1, State::BeforeName),
        }
    }
}
