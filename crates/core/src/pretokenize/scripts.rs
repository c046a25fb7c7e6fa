//! Cuts where the script changes.
//!
//! The scripts are those of Unicode 9, with kana as Han. A space, or a character without a script
//! (private use, unassigned), joins the piece before it; at the start of the text such characters
//! are dropped, as in the reference.
use std::sync::Arc;

use tokenmill_kernels::MadeOnce;

use crate::error::Result;
use crate::pattern::classes::{Classes, class};
use crate::span::Span;
use crate::watch::Ticker;

/// The number for characters without a script.
const ANY: u8 = 0;

/// Scripts by their names in regex-syntax; scripts in one string count as one.
#[rustfmt::skip]
const SCRIPTS: [&str; 135] = [
    "Adlam", "Ahom", "Anatolian_Hieroglyphs", "Arabic", "Armenian", "Avestan", "Balinese", "Bamum",
    "Bassa_Vah", "Batak", "Bengali", "Bhaiksuki", "Bopomofo", "Brahmi", "Braille", "Buginese", "Buhid",
    "Canadian_Aboriginal", "Carian", "Caucasian_Albanian", "Chakma", "Cham", "Cherokee", "Common", "Coptic",
    "Cuneiform", "Cypriot", "Cyrillic", "Deseret", "Devanagari", "Duployan", "Egyptian_Hieroglyphs",
    "Elbasan", "Ethiopic", "Georgian", "Glagolitic", "Gothic", "Grantha", "Greek", "Gujarati", "Gurmukhi",
    "Han Hiragana Katakana", "Hangul", "Hanunoo", "Hatran", "Hebrew", "Imperial_Aramaic", "Inherited",
    "Inscriptional_Pahlavi", "Inscriptional_Parthian", "Javanese", "Kaithi", "Kannada", "Kayah_Li",
    "Kharoshthi", "Khmer", "Khojki", "Khudawadi", "Lao", "Latin", "Lepcha", "Limbu", "Linear_A", "Linear_B",
    "Lisu", "Lycian", "Lydian", "Mahajani", "Malayalam", "Mandaic", "Manichaean", "Marchen", "Meetei_Mayek",
    "Mende_Kikakui", "Meroitic_Cursive", "Meroitic_Hieroglyphs", "Miao", "Modi", "Mongolian", "Mro",
    "Multani", "Myanmar", "Nabataean", "New_Tai_Lue", "Newa", "Nko", "Ogham", "Ol_Chiki", "Old_Hungarian",
    "Old_Italic", "Old_North_Arabian", "Old_Permic", "Old_Persian", "Old_South_Arabian", "Old_Turkic",
    "Oriya", "Osage", "Osmanya", "Pahawh_Hmong", "Palmyrene", "Pau_Cin_Hau", "Phags_Pa", "Phoenician",
    "Psalter_Pahlavi", "Rejang", "Runic", "Samaritan", "Saurashtra", "Sharada", "Shavian", "Siddham",
    "SignWriting", "Sinhala", "Sora_Sompeng", "Sundanese", "Syloti_Nagri", "Syriac", "Tagalog", "Tagbanwa",
    "Tai_Le", "Tai_Tham", "Tai_Viet", "Takri", "Tamil", "Tangut", "Telugu", "Thaana", "Thai", "Tibetan",
    "Tifinagh", "Tirhuta", "Ugaritic", "Vai", "Warang_Citi", "Yi",
];

/// Characters whose script has changed since Unicode 9, or that the reference assigns to another script.
const MOVED: [(&str, &str); 3] =
    [("Common", r"[\x{589}\x{61C}]"), ("Devanagari", r"[\x{953}\x{954}]"), ("Han", r"[\x{30FC}]")];

/// The table of scripts, built once.
#[derive(Debug)]
pub(crate) struct Scripts {
    classes: Arc<Classes>,
}

impl Scripts {
    pub(crate) fn new() -> Self {
        static CLASSES: MadeOnce<Arc<Classes>> = MadeOnce::new();
        Self { classes: Arc::clone(CLASSES.get_or_make(|| Arc::new(table()))) }
    }

    /// The number of the script of the character that starts at this byte; `None` if it has none, or takes that of the
    /// character before it.
    pub(crate) fn of(&self, text: &[u8], at: usize) -> Option<u8> {
        let script = self.classes.at(text, at).0;
        Some(script).filter(|&script| script != ANY && SCRIPTS[usize::from(script) - 1] != "Inherited")
    }

    #[inline]
    pub(super) fn for_each(
        &self,
        text: &str,
        ticker: &mut Ticker<'_>,
        mut emit: impl FnMut(Span, &mut Ticker<'_>) -> Result<()>,
    ) -> Result<()> {
        let bytes = text.as_bytes();
        let (mut at, mut start, mut last) = (0, 0, ANY);
        while at < bytes.len() {
            let (script, width) = self.classes.at(bytes, at);
            if script != ANY && script != last {
                if last != ANY {
                    ticker.spend(at - start)?;
                    emit(Span::new(start, at), ticker)?;
                }
                (start, last) = (at, script);
            }
            at += width;
        }
        if last == ANY { Ok(()) } else { emit(Span::new(start, at), ticker) }
    }
}

fn table() -> Classes {
    let mut numbered = Vec::new();
    for (i, names) in SCRIPTS.iter().enumerate() {
        // There are fewer than 255 scripts.
        let number = i as u8 + 1;
        for name in names.split(' ') {
            numbered.push((number, class(&format!(r"[\p{{Script={name}}}&&\p{{Age=9.0}}]"))));
        }
    }
    for (name, moved) in MOVED {
        let number = SCRIPTS.iter().position(|names| names.split(' ').any(|script| script == name));
        numbered.extend(number.map(|i| (i as u8 + 1, class(moved))));
    }
    numbered.push((ANY, class("[ ]")));
    Classes::new(numbered.iter().map(|(number, class)| (*number, class)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_is_known_and_has_characters() {
        for name in SCRIPTS.iter().flat_map(|names| names.split(' ')) {
            assert!(!class(&format!(r"[\p{{Script={name}}}&&\p{{Age=9.0}}]")).ranges().is_empty(), "{name}");
        }
    }
}
