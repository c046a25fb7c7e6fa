//! Constructs that one dialect has a token for and the other does not, spelled out in classes that both read
//! alike.
use super::atoms;
use super::tokens::Dialect;

/// The members of `\w`: in this library, in Oniguruma, and in a class of Oniguruma.
pub(super) const WORD: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}";
pub(super) const ONIGURUMA_WORD: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE}";
pub(super) const ONIGURUMA_CLASS_WORD: &str = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}";

/// The `\X` of Oniguruma.
pub(super) const GRAPHEME: &str = concat!(
    r"(?>\r\n|\p{gcb=Prepend}*(?:",
    r"\p{gcb=L}*(?:\p{gcb=V}+|\p{gcb=LV}\p{gcb=V}*|\p{gcb=LVT})\p{gcb=T}*|\p{gcb=L}+|\p{gcb=T}+",
    r"|\p{Regional_Indicator}{2}",
    r"|\p{Extended_Pictographic}(?:\p{gcb=Extend}*\x{200D}\p{Extended_Pictographic})*",
    r"|[^\p{gcb=Control}\r\n])[\p{gcb=Extend}\p{gcb=SpacingMark}\x{200D}]*|(?s:.))",
);

/// The members of `[:name:]`. They are ASCII characters in this library and Unicode characters in Oniguruma.
pub(super) fn posix(name: &str, dialect: Dialect) -> Option<&'static str> {
    const CLASSES: [(&str, &str, &str); 14] = [
        ("alnum", "0-9A-Za-z", r"\p{Alphabetic}\p{Nd}"),
        ("alpha", "A-Za-z", r"\p{Alphabetic}"),
        ("ascii", r"\x{0}-\x{7F}", r"\x{0}-\x{7F}"),
        ("blank", r"\t\ ", r"\t\p{Zs}"),
        ("cntrl", r"\x{0}-\x{1F}\x{7F}", r"\p{Cc}"),
        ("digit", "0-9", r"\p{Nd}"),
        ("graph", "!-~", r"[^\s\p{Cc}\p{Cn}]"),
        ("lower", "a-z", r"\p{Lowercase}"),
        ("print", r"\ -~", r"\p{Zs}[^\s\p{Cc}\p{Cn}]"),
        ("punct", r"!-/:-@\[-`\{-~", r"\p{P}\p{S}"),
        ("space", r"\t-\r\ ", r"\s"),
        ("upper", "A-Z", r"\p{Uppercase}"),
        ("word", "0-9A-Z_a-z", ONIGURUMA_CLASS_WORD),
        ("xdigit", "0-9A-Fa-f", "0-9A-Fa-f"),
    ];
    let (_, ours, theirs) = CLASSES.iter().find(|(known, ..)| *known == name)?;
    Some(match dialect {
        Dialect::Ours => ours,
        Dialect::Oniguruma => theirs,
    })
}

/// Does case folding never map this character, or a string with it, to another number of characters? Pairs of
/// ASCII letters are exceptions for which this returns true.
pub(super) fn folds_alone(c: char) -> bool {
    c.is_ascii() || !(c.is_alphabetic() || atoms::of(u32::from(c)) == atoms::MARK)
}
