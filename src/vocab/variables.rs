//! The variables (`ARGS`, `REQUEST_URI`, `TX`, …): names, and whether they hold one value or members with keys.

/// Whether a variable holds one value or many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Exactly one value, possibly empty.
    Scalar,
    /// Members with keys, possibly none.
    Collection,
}

/// Where a variable's values come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The request, or the transaction itself.
    Request,
    /// The response: empty, since responses are not inspected.
    Response,
    /// Storage that outlives a request: empty, since there is none.
    Persistent,
    /// The time, a random number or a token: differs between equal requests.
    Volatile,
    /// Accepted and always empty: the thing it names does not exist beside a proxy.
    Absent,
}

macro_rules! variables {
    ($($variant:ident $name:literal $shape:ident $origin:ident),+ $(,)?) => {
        /// A variable of SecLang.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[allow(missing_docs, reason = "each variant is the variable of the same name in ModSecurity's reference")]
        pub enum Variable { $($variant),+ }

        impl Variable {
            /// Every variable, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name in capitals.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// One value or members.
            pub const fn shape(self) -> Shape {
                match self { $(Self::$variant => Shape::$shape),+ }
            }

            /// Where its values come from.
            pub const fn origin(self) -> Origin {
                match self { $(Self::$variant => Origin::$origin),+ }
            }
        }
    };
}

variables! {
    Args "ARGS" Collection Request,
    ArgsCombinedSize "ARGS_COMBINED_SIZE" Scalar Request,
    ArgsGet "ARGS_GET" Collection Request,
    ArgsGetNames "ARGS_GET_NAMES" Collection Request,
    ArgsNames "ARGS_NAMES" Collection Request,
    ArgsPost "ARGS_POST" Collection Request,
    ArgsPostNames "ARGS_POST_NAMES" Collection Request,
    AuthType "AUTH_TYPE" Scalar Request,
    Duration "DURATION" Scalar Volatile,
    Env "ENV" Collection Absent,
    Files "FILES" Collection Request,
    FilesCombinedSize "FILES_COMBINED_SIZE" Scalar Request,
    FilesNames "FILES_NAMES" Collection Request,
    FilesSizes "FILES_SIZES" Collection Request,
    FilesTmpContent "FILES_TMP_CONTENT" Collection Absent,
    FilesTmpNames "FILES_TMPNAMES" Collection Absent,
    FullRequest "FULL_REQUEST" Scalar Request,
    FullRequestLength "FULL_REQUEST_LENGTH" Scalar Request,
    Geo "GEO" Collection Persistent,
    Global "GLOBAL" Collection Persistent,
    HighestSeverity "HIGHEST_SEVERITY" Scalar Request,
    InboundDataError "INBOUND_DATA_ERROR" Scalar Request,
    Ip "IP" Collection Persistent,
    MatchedVar "MATCHED_VAR" Scalar Request,
    MatchedVarName "MATCHED_VAR_NAME" Scalar Request,
    MatchedVars "MATCHED_VARS" Collection Request,
    MatchedVarsNames "MATCHED_VARS_NAMES" Collection Request,
    ModsecBuild "MODSEC_BUILD" Scalar Request,
    MultipartBoundaryQuoted "MULTIPART_BOUNDARY_QUOTED" Scalar Request,
    MultipartBoundaryWhitespace "MULTIPART_BOUNDARY_WHITESPACE" Scalar Request,
    MultipartCrlfLfLines "MULTIPART_CRLF_LF_LINES" Scalar Request,
    MultipartDataAfter "MULTIPART_DATA_AFTER" Scalar Request,
    MultipartDataBefore "MULTIPART_DATA_BEFORE" Scalar Request,
    MultipartFileLimitExceeded "MULTIPART_FILE_LIMIT_EXCEEDED" Scalar Request,
    MultipartFilename "MULTIPART_FILENAME" Collection Request,
    MultipartHeaderFolding "MULTIPART_HEADER_FOLDING" Scalar Request,
    MultipartInvalidHeaderFolding "MULTIPART_INVALID_HEADER_FOLDING" Scalar Request,
    MultipartInvalidPart "MULTIPART_INVALID_PART" Scalar Request,
    MultipartInvalidQuoting "MULTIPART_INVALID_QUOTING" Scalar Request,
    MultipartLfLine "MULTIPART_LF_LINE" Scalar Request,
    MultipartMissingSemicolon "MULTIPART_MISSING_SEMICOLON" Scalar Request,
    MultipartName "MULTIPART_NAME" Collection Request,
    MultipartPartHeaders "MULTIPART_PART_HEADERS" Collection Request,
    MultipartSemicolonMissing "MULTIPART_SEMICOLON_MISSING" Scalar Request,
    MultipartStrictError "MULTIPART_STRICT_ERROR" Scalar Request,
    MultipartUnmatchedBoundary "MULTIPART_UNMATCHED_BOUNDARY" Scalar Request,
    OutboundDataError "OUTBOUND_DATA_ERROR" Scalar Response,
    PathInfo "PATH_INFO" Scalar Request,
    QueryString "QUERY_STRING" Scalar Request,
    RemoteAddr "REMOTE_ADDR" Scalar Request,
    RemoteHost "REMOTE_HOST" Scalar Request,
    RemotePort "REMOTE_PORT" Scalar Request,
    RemoteUser "REMOTE_USER" Scalar Request,
    ReqbodyError "REQBODY_ERROR" Scalar Request,
    ReqbodyErrorMsg "REQBODY_ERROR_MSG" Scalar Request,
    ReqbodyProcessor "REQBODY_PROCESSOR" Scalar Request,
    ReqbodyProcessorError "REQBODY_PROCESSOR_ERROR" Scalar Request,
    ReqbodyProcessorErrorMsg "REQBODY_PROCESSOR_ERROR_MSG" Scalar Request,
    RequestBasename "REQUEST_BASENAME" Scalar Request,
    RequestBody "REQUEST_BODY" Scalar Request,
    RequestBodyLength "REQUEST_BODY_LENGTH" Scalar Request,
    RequestCookies "REQUEST_COOKIES" Collection Request,
    RequestCookiesNames "REQUEST_COOKIES_NAMES" Collection Request,
    RequestFilename "REQUEST_FILENAME" Scalar Request,
    RequestHeaders "REQUEST_HEADERS" Collection Request,
    RequestHeadersNames "REQUEST_HEADERS_NAMES" Collection Request,
    RequestLine "REQUEST_LINE" Scalar Request,
    RequestMethod "REQUEST_METHOD" Scalar Request,
    RequestProtocol "REQUEST_PROTOCOL" Scalar Request,
    RequestUri "REQUEST_URI" Scalar Request,
    RequestUriRaw "REQUEST_URI_RAW" Scalar Request,
    Resource "RESOURCE" Collection Persistent,
    ResponseBody "RESPONSE_BODY" Scalar Response,
    ResponseContentLength "RESPONSE_CONTENT_LENGTH" Scalar Response,
    ResponseContentType "RESPONSE_CONTENT_TYPE" Scalar Response,
    ResponseHeaders "RESPONSE_HEADERS" Collection Response,
    ResponseHeadersNames "RESPONSE_HEADERS_NAMES" Collection Response,
    ResponseProtocol "RESPONSE_PROTOCOL" Scalar Response,
    ResponseStatus "RESPONSE_STATUS" Scalar Response,
    Rule "RULE" Collection Request,
    ServerAddr "SERVER_ADDR" Scalar Request,
    ServerName "SERVER_NAME" Scalar Request,
    ServerPort "SERVER_PORT" Scalar Request,
    Session "SESSION" Collection Persistent,
    SessionId "SESSIONID" Scalar Absent,
    Status "STATUS" Scalar Response,
    StatusLine "STATUS_LINE" Scalar Response,
    Time "TIME" Scalar Volatile,
    TimeDay "TIME_DAY" Scalar Volatile,
    TimeEpoch "TIME_EPOCH" Scalar Volatile,
    TimeHour "TIME_HOUR" Scalar Volatile,
    TimeMin "TIME_MIN" Scalar Volatile,
    TimeMon "TIME_MON" Scalar Volatile,
    TimeSec "TIME_SEC" Scalar Volatile,
    TimeWday "TIME_WDAY" Scalar Volatile,
    TimeYear "TIME_YEAR" Scalar Volatile,
    Tx "TX" Collection Request,
    UniqueId "UNIQUE_ID" Scalar Volatile,
    UrlencodedError "URLENCODED_ERROR" Scalar Request,
    User "USER" Collection Persistent,
    UserId "USERID" Scalar Absent,
    WebappId "WEBAPPID" Scalar Absent,
    WebserverErrorLog "WEBSERVER_ERROR_LOG" Scalar Absent,
    Xml "XML" Collection Request,
}

impl Variable {
    /// The variable with this name, any case.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|variable| variable.name().eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_every_name_is_found() {
        for pair in Variable::ALL.windows(2) {
            assert!(pair[0].name().replace('_', "") <= pair[1].name().replace('_', ""), "{pair:?}");
        }
        for variable in Variable::ALL {
            assert_eq!(Variable::find(&variable.name().to_lowercase()), Some(*variable));
        }
    }
}
