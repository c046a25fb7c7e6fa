//! Spaces before punctuation and English contractions go, as the decoders for WordPiece and speech
//! do it: in each string alone, rule after rule.

/// What is replaced by what, in this order.
const RULES: [(&str, &str); 11] = [
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
];

/// The rules for texts as a whole: transformers has all but one of them.
pub(super) fn of_whole_texts() -> impl Iterator<Item = (&'static str, &'static str)> {
    RULES.into_iter().filter(|(from, _)| *from != " do not")
}

/// Cleans a string up in place.
pub(super) fn clean_up(text: &mut String) {
    // Every rule begins with a space and one of these.
    let may_apply =
        |pair: &[u8]| pair[0] == b' ' && matches!(pair[1], b'.' | b'?' | b'!' | b',' | b'\'' | b'n' | b'd');
    if !text.as_bytes().windows(2).any(may_apply) {
        return;
    }
    for (from, to) in RULES {
        if text.contains(from) {
            *text = text.replace(from, to);
        }
    }
}
