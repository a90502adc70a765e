//! The table of directives: canonical name, number of arguments, what becomes of it.
//!
//! Does not know what a directive's values mean.

use Verdict::{Ignored, Refused, Supported};

/// What becomes of a directive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    /// It has its effect.
    Supported,
    /// Accepted without effect; said once at load.
    Ignored,
    /// Not accepted, since leaving it out would weaken the rules in silence.
    Refused,
}

/// A row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirectiveInfo {
    /// The canonical spelling.
    pub name: &'static str,
    /// The fewest arguments.
    pub min_arguments: usize,
    /// The most arguments.
    pub max_arguments: usize,
    /// What becomes of it.
    pub verdict: Verdict,
    /// The arguments as a help text writes them.
    pub usage: &'static str,
}

const MANY: usize = usize::MAX;

const fn row(
    name: &'static str,
    min_arguments: usize,
    max_arguments: usize,
    verdict: Verdict,
    usage: &'static str,
) -> DirectiveInfo {
    DirectiveInfo { name, min_arguments, max_arguments, verdict, usage }
}

/// Every directive known, sorted by name without regard to case.
pub const DIRECTIVES: &[DirectiveInfo] = &[
    row("Include", 1, 1, Supported, "PATH"),
    row("IncludeOptional", 1, 1, Supported, "PATH"),
    row("SecAction", 1, 1, Supported, "\"ACTIONS\""),
    row("SecArgumentSeparator", 1, 1, Supported, "CHARACTER"),
    row("SecArgumentsLimit", 1, 1, Supported, "NUMBER"),
    row("SecAuditEngine", 1, 1, Supported, "On|Off|RelevantOnly"),
    row("SecAuditLog", 1, 1, Supported, "PATH"),
    row("SecAuditLog2", 1, 1, Supported, "PATH"),
    row("SecAuditLogDirMode", 1, 1, Supported, "MODE"),
    row("SecAuditLogFileMode", 1, 1, Supported, "MODE"),
    row("SecAuditLogFormat", 1, 1, Supported, "JSON|Native"),
    row("SecAuditLogParts", 1, 1, Supported, "LETTERS"),
    row("SecAuditLogRelevantStatus", 1, 1, Supported, "\"PATTERN\""),
    row("SecAuditLogStorageDir", 1, 1, Supported, "PATH"),
    row("SecAuditLogType", 1, 1, Supported, "Serial|Concurrent"),
    row("SecCacheTransformations", 1, 2, Ignored, "On|Off [OPTIONS]"),
    row("SecChrootDir", 1, 1, Ignored, "PATH"),
    row("SecCollectionTimeout", 1, 1, Ignored, "SECONDS"),
    row("SecComponentSignature", 1, 1, Supported, "\"TEXT\""),
    row("SecConnEngine", 1, 1, Ignored, "On|Off|DetectionOnly"),
    row("SecConnReadStateLimit", 1, 2, Ignored, "NUMBER [ADDRESSES]"),
    row("SecConnWriteStateLimit", 1, 2, Ignored, "NUMBER [ADDRESSES]"),
    row("SecContentInjection", 1, 1, Ignored, "On|Off"),
    row("SecCookieFormat", 1, 1, Supported, "0|1"),
    row("SecCookieV0Separator", 1, 1, Ignored, "CHARACTER"),
    row("SecDataDir", 1, 1, Ignored, "PATH"),
    row("SecDataset", 2, MANY, Refused, "NAME `PHRASES`"),
    row("SecDebugLog", 1, 1, Supported, "PATH"),
    row("SecDebugLogLevel", 1, 1, Supported, "0-9"),
    row("SecDefaultAction", 1, 1, Supported, "\"ACTIONS\""),
    row("SecDisableBackendCompression", 1, 1, Ignored, "On|Off"),
    row("SecGeoLookupDb", 1, 1, Refused, "PATH"),
    row("SecGsbLookupDb", 1, 1, Refused, "PATH"),
    row("SecGuardianLog", 1, 2, Ignored, "PATH [CONDITION]"),
    row("SecHashEngine", 1, 1, Ignored, "On|Off"),
    row("SecHashKey", 1, 2, Ignored, "KEY [OPTION]"),
    row("SecHashMethodPm", 2, 2, Ignored, "TYPE \"PHRASES\""),
    row("SecHashMethodRx", 2, 2, Ignored, "TYPE \"PATTERN\""),
    row("SecHashParam", 1, 1, Ignored, "NAME"),
    row("SecHttpBlKey", 1, 1, Refused, "KEY"),
    row("SecIgnoreRuleCompilationErrors", 1, 1, Refused, "On|Off"),
    row("SecInterceptOnError", 1, 1, Ignored, "On|Off"),
    row("SecMarker", 1, 1, Supported, "NAME"),
    row("SecParseXmlIntoArgs", 1, 1, Supported, "On|Off|OnlyArgs"),
    row("SecPcreMatchLimit", 1, 1, Supported, "NUMBER"),
    row("SecPcreMatchLimitRecursion", 1, 1, Supported, "NUMBER"),
    row("SecRemoteRules", 2, 3, Refused, "[crypto] KEY URL"),
    row("SecRemoteRulesFailAction", 1, 1, Refused, "Abort|Warn"),
    row("SecRequestBodyAccess", 1, 1, Supported, "On|Off"),
    row("SecRequestBodyInMemoryLimit", 1, 1, Ignored, "BYTES"),
    row("SecRequestBodyJsonDepthLimit", 1, 1, Supported, "NUMBER"),
    row("SecRequestBodyLimit", 1, 1, Supported, "BYTES"),
    row("SecRequestBodyLimitAction", 1, 1, Supported, "Reject|ProcessPartial"),
    row("SecRequestBodyNoFilesLimit", 1, 1, Supported, "BYTES"),
    row("SecResponseBodyAccess", 1, 1, Ignored, "On|Off"),
    row("SecResponseBodyLimit", 1, 1, Ignored, "BYTES"),
    row("SecResponseBodyLimitAction", 1, 1, Ignored, "Reject|ProcessPartial"),
    row("SecResponseBodyMimeType", 1, MANY, Ignored, "TYPE..."),
    row("SecResponseBodyMimeTypesClear", 0, 0, Ignored, ""),
    row("SecRule", 2, 3, Supported, "TARGETS \"OPERATOR\" \"ACTIONS\""),
    row("SecRuleEngine", 1, 1, Supported, "On|Off|DetectionOnly"),
    row("SecRuleInheritance", 1, 1, Ignored, "On|Off"),
    row("SecRulePerfTime", 1, 1, Ignored, "MICROSECONDS"),
    row("SecRuleRemoveById", 1, MANY, Supported, "ID|FIRST-LAST..."),
    row("SecRuleRemoveByMsg", 1, 1, Supported, "\"MSG\""),
    row("SecRuleRemoveByTag", 1, 1, Supported, "\"TAG\""),
    row("SecRuleScript", 1, 2, Refused, "PATH [\"ACTIONS\"]"),
    row("SecRuleUpdateActionById", 2, 2, Supported, "ID \"ACTIONS\""),
    row("SecRuleUpdateTargetById", 2, MANY, Supported, "ID|FIRST-LAST \"TARGETS\""),
    row("SecRuleUpdateTargetByMsg", 2, 3, Supported, "\"MSG\" \"TARGETS\""),
    row("SecRuleUpdateTargetByTag", 2, 3, Supported, "\"TAG\" \"TARGETS\""),
    row("SecRxPreFilter", 1, 1, Refused, "On|Off"),
    row("SecSensorId", 1, 1, Ignored, "NAME"),
    row("SecServerSignature", 1, 1, Ignored, "\"TEXT\""),
    row("SecStatusEngine", 1, 1, Ignored, "On|Off"),
    row("SecStreamInBodyInspection", 1, 1, Ignored, "On|Off"),
    row("SecStreamOutBodyInspection", 1, 1, Ignored, "On|Off"),
    row("SecTmpDir", 1, 1, Ignored, "PATH"),
    row("SecTmpSaveUploadedFiles", 1, 1, Ignored, "On|Off"),
    row("SecUnicodeMapFile", 1, 2, Supported, "FILE CODEPAGE"),
    row("SecUploadDir", 1, 1, Ignored, "PATH"),
    row("SecUploadFileLimit", 1, 1, Ignored, "NUMBER"),
    row("SecUploadFileMode", 1, 1, Ignored, "MODE"),
    row("SecUploadKeepFiles", 1, 1, Ignored, "On|Off|RelevantOnly"),
    row("SecWebAppId", 1, 1, Ignored, "NAME"),
    row("SecXmlDoctype", 1, 1, Supported, "Allow|Refuse"),
    row("SecXmlExternalEntity", 1, 1, Ignored, "Off"),
];

/// The directive of this name, any case.
pub fn directive(name: &str) -> Option<&'static DirectiveInfo> {
    let wanted = || name.bytes().map(|byte| byte.to_ascii_lowercase());
    let found = |info: &DirectiveInfo| info.name.bytes().map(|byte| byte.to_ascii_lowercase()).cmp(wanted());
    let index = DIRECTIVES.binary_search_by(found).ok()?;
    DIRECTIVES.get(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_unique_and_found_in_any_case() {
        for pair in DIRECTIVES.windows(2) {
            assert!(pair[0].name.to_ascii_lowercase() < pair[1].name.to_ascii_lowercase(), "{}", pair[1].name);
        }
        for info in DIRECTIVES {
            assert!(info.min_arguments <= info.max_arguments);
            assert_eq!(directive(info.name), Some(info));
            assert_eq!(directive(&info.name.to_uppercase()), Some(info));
        }
        assert_eq!(directive("SecNothing"), None);
    }
}
