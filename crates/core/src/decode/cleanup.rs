//! Removes spaces before punctuation and English contractions, as the WordPiece and CTC decoders
//! do: in each string on its own, rule after rule.

/// Pairs of a text and its replacement, applied in this order.
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

/// The rules that transformers applies to whole texts: all but one.
pub(super) fn of_whole_texts() -> impl Iterator<Item = (&'static str, &'static str)> {
    RULES.into_iter().filter(|(from, _)| *from != " do not")
}

/// Applies all rules to a string in place.
pub(super) fn clean_up(text: &mut String) {
    // Every rule starts with a space and one of these characters.
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
