//! Directives that set something.

use std::sync::Arc;

use super::Compiler;
use crate::ruleset::settings::{LimitAction, Statuses, XmlArguments};
use crate::seclang::diag::Diagnostic;
use crate::seclang::parser::directives::{Verdict, directive};
use crate::seclang::source::{Span, Spanned, resolve};
use crate::vocab::pcre::Pattern;
use crate::vocab::transformations::UnicodeMap;

/// The file name that means our own table in `SecUnicodeMapFile`.
const BUILT_IN_MAP: &str = "builtin";

impl Compiler<'_> {
    pub(super) fn setting(&mut self, span: Span, name: &'static str, arguments: &[Spanned<Vec<u8>>]) {
        match directive(name).map(|info| info.verdict) {
            Some(Verdict::Refused) => return self.refused(span, name),
            Some(Verdict::Ignored) => {
                self.diagnostics.push(Diagnostic::notice(span, format!("`{name}` is accepted and has no effect here")));
                return;
            }
            Some(Verdict::Supported) | None => {}
        }
        let Some(first) = arguments.first() else { return };
        let text = String::from_utf8_lossy(&first.node).trim().to_owned();
        self.apply(name, first, &text, arguments);
    }

    fn refused(&mut self, span: Span, name: &str) {
        self.error_with_help(
            span,
            format!("`{name}` is not supported, and leaving it out would weaken the rules in silence"),
            "remove the directive and the rules that depend on it",
        );
    }

    fn apply(&mut self, name: &str, first: &Spanned<Vec<u8>>, text: &str, arguments: &[Spanned<Vec<u8>>]) {
        match name {
            "SecRuleEngine" => {
                let mode = self.rule_engine(first, text);
                set(&mut self.settings.engine, mode);
            }
            "SecRequestBodyAccess" => {
                let access = self.on_off(first, text);
                set(&mut self.settings.request_body_access, access);
            }
            "SecRequestBodyLimit" => {
                let limit = self.size(first, text);
                set(&mut self.settings.request_body_limit, limit);
            }
            "SecRequestBodyNoFilesLimit" => {
                let limit = self.size(first, text);
                set(&mut self.settings.request_body_no_files_limit, limit);
            }
            "SecRequestBodyLimitAction" => {
                let actions = [("Reject", LimitAction::Reject), ("ProcessPartial", LimitAction::ProcessPartial)];
                let action = self.one_of(first, text, &actions);
                set(&mut self.settings.request_body_limit_action, action);
            }
            "SecRequestBodyJsonDepthLimit" => {
                let limit = self.size(first, text);
                set(&mut self.settings.json_depth_limit, limit);
            }
            "SecArgumentsLimit" => {
                let limit = self.size(first, text);
                set(&mut self.settings.arguments_limit, limit);
            }
            "SecArgumentSeparator" => self.separator(first),
            "SecCookieFormat" => self.cookie_format(first, text),
            "SecParseXmlIntoArgs" => {
                let modes = [("On", XmlArguments::On), ("Off", XmlArguments::Off), ("OnlyArgs", XmlArguments::Only)];
                let mode = self.one_of(first, text, &modes);
                set(&mut self.settings.xml_arguments, mode);
            }
            "SecXmlDoctype" => {
                let refuse = self.one_of(first, text, &[("Allow", false), ("Refuse", true)]);
                set(&mut self.settings.refuse_doctype, refuse);
            }
            "SecUnicodeMapFile" => self.unicode_map(first, text, arguments.get(1)),
            "SecAuditEngine" => {
                let engine = self.audit_engine(first, text);
                set(&mut self.settings.audit_engine, engine);
            }
            "SecAuditLogParts" => {
                let parts = self.audit_parts(first, text);
                set(&mut self.settings.audit_parts, parts);
            }
            "SecAuditLogRelevantStatus" => {
                let statuses = self.statuses(first, text);
                set(&mut self.settings.audit_relevant_status, statuses.map(Some));
            }
            "SecPcreMatchLimit" | "SecPcreMatchLimitRecursion" => {
                let limit = self.size(first, text);
                if name == "SecPcreMatchLimit" {
                    set(&mut self.settings.match_limit, limit);
                }
            }
            "SecComponentSignature" => self.settings.components.push(text.to_owned()),
            // Where logs go is the configuration's affair.
            _ => {}
        }
    }

    fn size(&mut self, place: &Spanned<Vec<u8>>, text: &str) -> Option<usize> {
        let number = text.parse().ok();
        if number.is_none() {
            self.error_with_help(place.span, format!("`{text}` is no number"), "write a whole number without a unit");
        }
        number
    }

    /// The usual one, `^(?:5|4(?!04))`, looks ahead, so it is compiled as patterns of `@rx` are.
    fn statuses(&mut self, place: &Spanned<Vec<u8>>, text: &str) -> Option<Statuses> {
        match Pattern::new(text.as_bytes(), self.settings.match_limit) {
            Ok(pattern) => Some(Statuses::new(pattern)),
            Err(error) => {
                let help = error.help.unwrap_or_else(|| "write a pattern such as `^(?:5|4(?!04))`".to_owned());
                self.error_with_help(place.span, error.message, help);
                None
            }
        }
    }

    fn separator(&mut self, value: &Spanned<Vec<u8>>) {
        match value.node.as_slice() {
            [one] => self.settings.argument_separator = *one,
            _ => self.error_with_help(value.span, "the argument separator is not one character", "write `&` or `;`"),
        }
    }

    fn cookie_format(&mut self, place: &Spanned<Vec<u8>>, text: &str) {
        match text {
            "0" => {}
            "1" => self.error_with_help(
                place.span,
                "cookies of format 1 (RFC 2965) are not supported",
                "write `SecCookieFormat 0`, which is what browsers send",
            ),
            _ => self.error_with_help(place.span, format!("`{text}` is no cookie format"), "write `0`"),
        }
    }

    /// `SecUnicodeMapFile FILE CODEPAGE`
    fn unicode_map(&mut self, place: &Spanned<Vec<u8>>, file: &str, codepage: Option<&Spanned<Vec<u8>>>) {
        let number = codepage.map_or("20127".to_owned(), |code| String::from_utf8_lossy(&code.node).into_owned());
        let Ok(number) = number.trim().parse::<u32>() else {
            return self.error_with_help(place.span, format!("`{number}` is no code page"), "write e.g. `20127`");
        };
        if file == BUILT_IN_MAP && number == 20127 {
            self.context.unicode_map = Some(Arc::new(UnicodeMap::code_page_20127()));
            return;
        }
        let path = resolve(&self.sources.path(place.span.file), file);
        let map = self.loader.read(&path).and_then(|text| UnicodeMap::parse(&text, number));
        match map {
            Ok(map) => self.context.unicode_map = Some(Arc::new(map)),
            Err(reason) => self.error_with_help(
                place.span,
                format!("the Unicode map `{file}` cannot be used: {reason}"),
                "write `SecUnicodeMapFile builtin 20127` for the table of code page 20127 that is built in",
            ),
        }
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}
