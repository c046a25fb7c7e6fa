//! What the dialects of patterns have in common and where they differ, as tables.
//!
//! The first table has the Unicode properties whose names mean the same characters in every engine: in the pinned
//! regex-syntax and fancy-regex, and in the Oniguruma of tokenizers 0.23.3. All characters have been compared. The
//! other constants spell out constructs for which only one dialect has a token, in classes that both read alike.
use super::atoms;
use super::tokens::Dialect;

/// Sorted, and spelled as in the Unicode data, although the engines ignore case.
#[rustfmt::skip]
const NAMES: [&str; 287] = [
    "ASCII", "ASCII_Hex_Digit", "Adlam", "Ahom", "Alpha", "Alphabetic", "Anatolian_Hieroglyphs", "Any",
    "Arabic", "Armenian", "Assigned", "Avestan", "Balinese", "Bamum", "Bassa_Vah", "Batak", "Bengali",
    "Bhaiksuki", "Bopomofo", "Brahmi", "Braille", "Buginese", "Buhid", "C", "Canadian_Aboriginal", "Carian",
    "Case_Ignorable", "Cased", "Cased_Letter", "Caucasian_Albanian", "Cc", "Cf", "Chakma", "Cham", "Cherokee",
    "Chorasmian", "Close_Punctuation", "Cn", "Co", "Common", "Connector_Punctuation", "Control", "Coptic",
    "Cuneiform", "Currency_Symbol", "Cypriot", "Cypro_Minoan", "Cyrillic", "Dash", "Dash_Punctuation",
    "Decimal_Number", "Default_Ignorable_Code_Point", "Deseret", "Devanagari", "Diacritic", "Digit",
    "Dives_Akuru", "Dogra", "Duployan", "Egyptian_Hieroglyphs", "Elbasan", "Elymaic", "Emoji",
    "Emoji_Component", "Emoji_Modifier", "Emoji_Modifier_Base", "Emoji_Presentation", "Enclosing_Mark",
    "Ethiopic", "Extended_Pictographic", "Extender", "Final_Punctuation", "Format", "Garay", "Georgian",
    "Glagolitic", "Gothic", "Grantha", "Grapheme_Base", "Grapheme_Extend", "Greek", "Gujarati",
    "Gunjala_Gondi", "Gurmukhi", "Gurung_Khema", "Han", "Hangul", "Hanifi_Rohingya", "Hanunoo", "Hatran",
    "Hebrew", "Hex_Digit", "Hiragana", "ID_Continue", "ID_Start", "Ideographic", "Imperial_Aramaic",
    "Inherited", "Initial_Punctuation", "Inscriptional_Pahlavi", "Inscriptional_Parthian", "Javanese",
    "Join_Control", "Kaithi", "Kannada", "Katakana", "Kawi", "Kayah_Li", "Kharoshthi", "Khitan_Small_Script",
    "Khmer", "Khojki", "Khudawadi", "Kirat_Rai", "L", "LC", "Lao", "Latin", "Lepcha", "Letter",
    "Letter_Number", "Limbu", "Line_Separator", "Linear_A", "Linear_B", "Lisu", "Ll", "Lm", "Lo", "Lowercase",
    "Lowercase_Letter", "Lt", "Lu", "Lycian", "Lydian", "M", "Mahajani", "Makasar", "Malayalam", "Mandaic",
    "Manichaean", "Marchen", "Mark", "Masaram_Gondi", "Math", "Math_Symbol", "Mc", "Me", "Medefaidrin",
    "Meetei_Mayek", "Mende_Kikakui", "Meroitic_Cursive", "Meroitic_Hieroglyphs", "Miao", "Mn", "Modi",
    "Modifier_Letter", "Modifier_Symbol", "Mongolian", "Mro", "Multani", "Myanmar", "N", "Nabataean",
    "Nag_Mundari", "Nandinagari", "Nd", "New_Tai_Lue", "Newa", "Nko", "Nl", "No", "Nonspacing_Mark", "Number",
    "Nushu", "Nyiakeng_Puachue_Hmong", "Ogham", "Ol_Chiki", "Ol_Onal", "Old_Hungarian", "Old_Italic",
    "Old_North_Arabian", "Old_Permic", "Old_Persian", "Old_Sogdian", "Old_South_Arabian", "Old_Turkic",
    "Old_Uyghur", "Open_Punctuation", "Oriya", "Osage", "Osmanya", "Other", "Other_Letter", "Other_Number",
    "Other_Punctuation", "Other_Symbol", "P", "Pahawh_Hmong", "Palmyrene", "Paragraph_Separator",
    "Pau_Cin_Hau", "Pc", "Pd", "Pe", "Pf", "Phags_Pa", "Phoenician", "Pi", "Po", "Private_Use", "Ps",
    "Psalter_Pahlavi", "Punct", "Punctuation", "Quotation_Mark", "Radical", "Regional_Indicator", "Rejang",
    "Runic", "S", "Samaritan", "Saurashtra", "Sc", "Sentence_Terminal", "Separator", "Sharada", "Shavian",
    "Siddham", "SignWriting", "Sinhala", "Sk", "Sm", "So", "Sogdian", "Sora_Sompeng", "Soyombo", "Space",
    "Space_Separator", "Spacing_Mark", "Sundanese", "Sunuwar", "Syloti_Nagri", "Symbol", "Syriac", "Tagalog",
    "Tagbanwa", "Tai_Le", "Tai_Tham", "Tai_Viet", "Takri", "Tamil", "Tangsa", "Tangut", "Telugu",
    "Terminal_Punctuation", "Thaana", "Thai", "Tibetan", "Tifinagh", "Tirhuta", "Titlecase_Letter", "Todhri",
    "Toto", "Tulu_Tigalari", "Ugaritic", "Unassigned", "Unified_Ideograph", "Uppercase", "Uppercase_Letter",
    "Vai", "Variation_Selector", "Vithkuqi", "Wancho", "Warang_Citi", "White_Space", "XID_Continue",
    "XID_Start", "Yezidi", "Yi", "Z", "Zanabazar_Square", "Zl", "Zp", "Zs", "han", "latin",
];

/// Does this name mean the same characters in every engine?
pub(super) fn is_known_property(name: &str) -> bool {
    NAMES.binary_search(&name).is_ok()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_known_to_regex_syntax() {
        assert!(NAMES.is_sorted());
        for name in NAMES {
            assert!(is_known_property(name));
            assert!(regex_syntax::parse(&format!(r"\p{{{name}}}")).is_ok(), "{name}");
        }
        assert!(!is_known_property("Script=Han") && !is_known_property("Cs") && !is_known_property(""));
    }
}
