//! Small vocabularies, against all texts of a few letters.
