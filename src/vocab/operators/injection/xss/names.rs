//! The names that make HTML run script. Lower case in a value counts as upper case.

/// What an attribute's value can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Danger {
    /// Harm, whatever it is: script, style or data from elsewhere.
    Always,
    /// Harm, if it is a URL that runs script.
    Url,
    /// Harm, if it is the name of an attribute that does harm (SVG sets one by its name).
    Name,
}

/// The longest name below; a longer one need not be looked at.
pub(super) const MAX_NAME: usize = 13;

/// Whether the tag runs script or loads something.
pub(super) const fn is_tag(name: &[u8]) -> bool {
    matches!(
        name,
        b"APPLET"
            | b"BASE"
            | b"COMMENT"
            | b"EMBED"
            | b"FRAME"
            | b"FRAMESET"
            | b"HANDLER"
            | b"IFRAME"
            | b"IMPORT"
            | b"ISINDEX"
            | b"LINK"
            | b"LISTENER"
            | b"META"
            | b"NOSCRIPT"
            | b"OBJECT"
            | b"SCRIPT"
            | b"STYLE"
            | b"VMLFRAME"
            | b"XML"
            | b"XSS"
    )
}

/// What the value of the attribute can do.
pub(super) const fn attribute(name: &[u8]) -> Option<Danger> {
    Some(match name {
        b"DATAFORMATAS" | b"DATASRC" | b"FILTER" | b"STYLE" => Danger::Always,
        b"ACTION" | b"BACKGROUND" | b"BY" | b"DYNSRC" | b"FOLDER" | b"FORMACTION" | b"FROM" | b"HANDLER" | b"HREF"
        | b"LOWSRC" | b"POSTER" | b"SRC" | b"TO" | b"VALUES" | b"XLINK:HREF" => Danger::Url,
        b"ATTRIBUTENAME" => Danger::Name,
        _ => return None,
    })
}

/// The schemes of URLs that run script. `JAVA` stands for `JAVASCRIPT` as well.
pub(super) const SCHEMES: [&[u8]; 4] = [b"DATA", b"VIEW-SOURCE", b"JAVA", b"VBSCRIPT"];

/// The longest scheme.
pub(super) const MAX_SCHEME: usize = 11;

/// Whether an event's handler begins like this, after `on`: `ONLOAD` with anything behind it.
pub(super) fn is_event(name: &[u8]) -> bool {
    let after = EVENTS.partition_point(|event| !is_below(name, event.as_bytes()));
    let nearest = after.checked_sub(1).and_then(|index| EVENTS.get(index));
    nearest.is_some_and(|event| begins_with(name, event.as_bytes()))
}

fn begins_with(name: &[u8], upper: &[u8]) -> bool {
    name.get(..upper.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(upper))
}

fn is_below(name: &[u8], upper: &[u8]) -> bool {
    name.iter().map(u8::to_ascii_uppercase).lt(upper.iter().copied())
}

/// Events, sorted; the list is libinjection's (BSD-3-Clause, see `../data/COPYING`). Of those that begin alike only the shortest is listed, since that is all that is compared; so the
/// nearest that does not come after a name is the only one that it can begin with.
#[rustfmt::skip]
pub(super) const EVENTS: &[&str] = &[
    "ABORT", "ACTIVATE", "ACTIVE", "ADDSOURCEBUFFER", "ADDSTREAM", "ADDTRACK", "AFTERPRINT", "ANIMATIONCANCEL",
    "ANIMATIONEND", "ANIMATIONITERATION", "ANIMATIONSTART", "AUDIOEND", "AUDIOPROCESS", "AUDIOSTART", "AUTOCOMPLETE",
    "BEFOREACTIVATE", "BEFORECOPY", "BEFORECUT", "BEFOREINPUT", "BEFORELOAD", "BEFOREPASTE", "BEFOREPRINT",
    "BEFOREUNLOAD", "BEGINEVENT", "BLOCKED", "BLUR", "BOUNDARY", "BUFFEREDAMOUNTLOW", "CACHED", "CANCEL", "CANPLAY",
    "CHANGE", "CHARGINGCHANGE", "CHARGINGTIMECHANGE", "CHECKING", "CLICK", "CLOSE", "COMPLETE", "COMPOSITIONEND",
    "COMPOSITIONSTART", "COMPOSITIONUPDATE", "CONNECT", "CONTEXTMENU", "CONTROLLERCHANGE", "COPY", "CUECHANGE", "CUT",
    "DATAAVAILABLE", "DATACHANNEL", "DBLCLICK", "DEVICECHANGE", "DEVICEMOTION", "DEVICEORIENTATION",
    "DISCHARGINGTIMECHANGE", "DISCONNECT", "DOMACTIVATE", "DOMCHARACTERDATAMODIFIED", "DOMCONTENTLOADED",
    "DOMFOCUSIN", "DOMFOCUSOUT", "DOMNODEINSERTED", "DOMNODEREMOVED", "DOMSUBTREEMODIFIED", "DOWNLOADING", "DRAG",
    "DROP", "DURATIONCHANGE", "EMPTIED", "ENCRYPTED", "END", "ENTER", "ERROR", "EXIT", "FETCH", "FINISH", "FOCUS",
    "FORMCHANGE", "FORMINPUT", "GAMEPADCONNECTED", "GAMEPADDISCONNECTED", "GESTURECHANGE", "GESTUREEND",
    "GESTURESCROLLEND", "GESTURESCROLLSTART", "GESTURESCROLLUPDATE", "GESTURESTART", "GESTURETAP",
    "GOTPOINTERCAPTURE", "HASHCHANGE", "ICECANDIDATE", "ICECONNECTIONSTATECHANGE", "ICEGATHERINGSTATECHANGE",
    "INACTIVE", "INPUT", "INSTALL", "INVALID", "KEYDOWN", "KEYPRESS", "KEYSTATUSESCHANGE", "KEYUP", "LANGUAGECHANGE",
    "LEAVEPICTUREINPICTURE", "LEVELCHANGE", "LOAD", "LOSTPOINTERCAPTURE", "MARK", "MERCHANTVALIDATION", "MESSAGE",
    "MOUSEDOWN", "MOUSEENTER", "MOUSELEAVE", "MOUSEMOVE", "MOUSEOUT", "MOUSEOVER", "MOUSEUP", "MOUSEWHEEL", "MUTE",
    "NEGOTIATIONNEEDED", "NEXTTRACK", "NOMATCH", "NOUPDATE", "OBSOLETE", "OFFLINE", "ONLINE", "OPEN",
    "ORIENTATIONCHANGE", "OVERCONSTRAINED", "OVERFLOWCHANGED", "PAGEHIDE", "PAGESHOW", "PASTE", "PAUSE",
    "PAYERDETAILCHANGE", "PAYMENTAUTHORIZED", "PAYMENTMETHODCHANGE", "PAYMENTMETHODSELECTED", "PLAY", "POINTERCANCEL",
    "POINTERDOWN", "POINTERENTER", "POINTERLEAVE", "POINTERLOCKCHANGE", "POINTERLOCKERROR", "POINTERMOVE",
    "POINTEROUT", "POINTEROVER", "POINTERUP", "POPSTATE", "PREVIOUSTRACK", "PROCESSORERROR", "PROGRESS",
    "PROPERTYCHANGE", "RATECHANGE", "READYSTATECHANGE", "REJECTIONHANDLED", "REMOVE", "RESET", "RESIZE",
    "RESOURCETIMINGBUFFERFULL", "RESULT", "RESUME", "SCROLL", "SEARCH", "SECURITYPOLICYVIOLATION", "SEEKED",
    "SEEKING", "SELECT", "SHIPPINGADDRESSCHANGE", "SHIPPINGCONTACTSELECTED", "SHIPPINGMETHODSELECTED",
    "SHIPPINGOPTIONCHANGE", "SHOW", "SIGNALINGSTATECHANGE", "SLOTCHANGE", "SOUNDEND", "SOUNDSTART", "SOURCECLOSE",
    "SOURCEENDED", "SOURCEOPEN", "SPEECHEND", "SPEECHSTART", "SQUEEZE", "STALLED", "START", "STATECHANGE", "STOP",
    "STORAGE", "SUBMIT", "SUCCESS", "SUSPEND", "TEXTINPUT", "TIMEOUT", "TIMEUPDATE", "TOGGLE", "TONECHANGE",
    "TOUCHCANCEL", "TOUCHEND", "TOUCHFORCECHANGE", "TOUCHMOVE", "TOUCHSTART", "TRACK", "TRANSITIONCANCEL",
    "TRANSITIONEND", "TRANSITIONRUN", "TRANSITIONSTART", "UNCAPTUREDERROR", "UNHANDLEDREJECTION", "UNLOAD", "UNMUTE",
    "UPDATE", "UPGRADENEEDED", "VALIDATEMERCHANT", "VERSIONCHANGE", "VISIBILITYCHANGE", "VOLUMECHANGE", "WAITING",
    "WEBGLCONTEXTCHANGED", "WEBGLCONTEXTCREATIONERROR", "WEBGLCONTEXTLOST", "WEBGLCONTEXTRESTORED",
    "WEBKITANIMATIONEND", "WEBKITANIMATIONITERATION", "WEBKITANIMATIONSTART", "WEBKITBEFORETEXTINSERTED",
    "WEBKITBEGINFULLSCREEN", "WEBKITCURRENTPLAYBACKTARGETISWIRELESSCHANGED", "WEBKITENDFULLSCREEN",
    "WEBKITFULLSCREENCHANGE", "WEBKITFULLSCREENERROR", "WEBKITKEYADDED", "WEBKITKEYERROR", "WEBKITKEYMESSAGE",
    "WEBKITMOUSEFORCECHANGED", "WEBKITMOUSEFORCEDOWN", "WEBKITMOUSEFORCEUP", "WEBKITMOUSEFORCEWILLBEGIN",
    "WEBKITNEEDKEY", "WEBKITNETWORKINFOCHANGE", "WEBKITPLAYBACKTARGETAVAILABILITYCHANGED",
    "WEBKITPRESENTATIONMODECHANGED", "WEBKITREGIONOVERSETCHANGE", "WEBKITREMOVESOURCEBUFFER", "WEBKITSOURCECLOSE",
    "WEBKITSOURCEENDED", "WEBKITSOURCEOPEN", "WEBKITSPEECHCHANGE", "WEBKITTRANSITIONEND", "WEBKITWILLREVEALBOTTOM",
    "WEBKITWILLREVEALLEFT", "WEBKITWILLREVEALRIGHT", "WEBKITWILLREVEALTOP", "WHEEL", "WRITE", "ZOOM",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_sorted_and_none_begins_like_another() {
        assert!(EVENTS.is_sorted());
        let alike = EVENTS.windows(2).find(|pair| pair[1].starts_with(pair[0]));
        assert_eq!(alike, None);
        assert!(EVENTS.iter().all(|event| is_event(event.as_bytes()) && is_event(format!("{event}X").as_bytes())));
        assert!(!EVENTS.iter().any(|event| is_event(&event.as_bytes()[..event.len() - 1])));
    }
}
