//! `SecParseXmlIntoArgs`: `<a><b>x</b></a>` also gives the argument `xml.a.b` = `x`.
//!
//! Names come from elements without their namespace prefix. Text beside elements gives arguments too where it is more
//! than blanks; ModSecurity drops it, so that rules on arguments never see it.

use super::super::{BodyLimits, Input, Parsed, name_room};
use super::{Step, Stop};

/// Makes arguments of elements.
pub(super) struct Arguments {
    path: Vec<u8>,
    open: Vec<Open>,
    /// Text since the last tag.
    text: Vec<u8>,
    arguments_left: usize,
    names_left: usize,
}

/// An element that is not closed yet.
struct Open {
    /// The length of the path outside the element.
    path: usize,
    has_children: bool,
}

impl Arguments {
    pub(super) fn new(input: &Input<'_>, limits: &BodyLimits) -> Self {
        Self {
            path: b"xml".to_vec(),
            open: Vec::new(),
            text: Vec::new(),
            arguments_left: limits.arguments.saturating_sub(input.already),
            names_left: name_room(input.body.len()),
        }
    }

    pub(super) fn open(&mut self, name: &[u8], parsed: &mut Parsed) -> Step {
        self.mixed_text(parsed)?;
        if let Some(parent) = self.open.last_mut() {
            parent.has_children = true;
        }
        self.open.push(Open { path: self.path.len(), has_children: false });
        self.path.push(b'.');
        self.path.extend_from_slice(name);
        Ok(())
    }

    pub(super) fn characters(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
    }

    pub(super) fn close(&mut self, parsed: &mut Parsed) -> Step {
        match self.open.last() {
            Some(element) if element.has_children => self.mixed_text(parsed)?,
            _ => self.emit(parsed)?,
        }
        if let Some(element) = self.open.pop() {
            self.path.truncate(element.path);
        }
        Ok(())
    }

    fn mixed_text(&mut self, parsed: &mut Parsed) -> Step {
        if self.text.iter().all(u8::is_ascii_whitespace) {
            self.text.clear();
            return Ok(());
        }
        self.emit(parsed)
    }

    fn emit(&mut self, parsed: &mut Parsed) -> Step {
        match self.arguments_left.checked_sub(1) {
            None => parsed.arguments_over_limit = true,
            Some(left) => {
                self.arguments_left = left;
                let names_left = self.names_left.checked_sub(self.path.len());
                self.names_left = names_left.ok_or(Stop::Wrong("names too long"))?;
                parsed.arguments.push(&self.path, &self.text);
            }
        }
        self.text.clear();
        Ok(())
    }
}
