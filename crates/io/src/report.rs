//! What loading found out: which file gave what, and what was tolerated.
//!
//! Readers write into a [`Report`] while they read. What the format's own library lets pass and a
//! careful reader would rather know of is told with [`Report::tolerate`], which is an error for
//! those who asked for strictness.
use tokenmill_core::charsmap::Charsmap;
use tokenmill_core::error::{Defect, Error, Result};

/// What loading found out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    files: Vec<(String, Vec<String>)>,
    tolerated: Vec<Finding>,
    notes: Vec<String>,
    is_strict: bool,
    /// The file that is being read.
    file: String,
}

/// Something that was tolerated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The sort of defect; the same as that of the error in strict loading.
    pub defect: Defect,
    /// The file it is in.
    pub file: String,
    /// The place in it.
    pub field: String,
    /// What was found, and what was made of it.
    pub reason: String,
}

/// Findings of one sort in one place beyond this many are counted, not listed.
const LISTED: usize = 100;

impl Report {
    /// An empty one; a strict one turns everything tolerated into an error.
    pub fn new(is_strict: bool) -> Self {
        Self { is_strict, ..Self::default() }
    }

    /// Each file that was read, by name, with what came from it.
    pub fn files(&self) -> &[(String, Vec<String>)] {
        &self.files
    }

    /// What was tolerated, in the order in which it was found.
    pub fn tolerated(&self) -> &[Finding] {
        &self.tolerated
    }

    /// What was decided, and why.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Names the file that is read from here on.
    pub(crate) fn reads(&mut self, file: &str) {
        file.clone_into(&mut self.file);
        if !self.files.iter().any(|(name, _)| name == file) {
            self.files.push((file.to_owned(), Vec::new()));
        }
    }

    /// The file that is being read gave this.
    pub(crate) fn gave(&mut self, what: &str) {
        let file = self.file.clone();
        self.gave_from(&file, what);
    }

    /// A file gave this.
    pub(crate) fn gave_from(&mut self, file: &str, what: &str) {
        let index = self.files.iter().position(|(name, _)| name == file).unwrap_or_else(|| {
            self.files.push((file.to_owned(), Vec::new()));
            self.files.len() - 1
        });
        let given = &mut self.files[index].1;
        if !given.iter().any(|known| known == what) {
            given.push(what.to_owned());
        }
    }

    /// Something was decided.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Tolerates a map of characters that can be walked although something is wrong with it.
    ///
    /// # Errors
    /// As [`Self::tolerate`].
    pub(crate) fn doubt_map(&mut self, map: &[u8], field: impl FnOnce() -> String) -> Result<()> {
        match Charsmap::doubt(map) {
            Some(reason) => self.tolerate(Defect::Charsmap, field(), reason),
            None => Ok(()),
        }
    }

    /// Something is tolerated.
    ///
    /// # Errors
    /// The defect as a format error, in strict loading.
    pub(crate) fn tolerate(
        &mut self,
        defect: Defect,
        field: impl Into<String>,
        reason: impl Into<String>,
    ) -> Result<()> {
        let (field, reason) = (field.into(), reason.into());
        if self.is_strict {
            return Err(Error::format(defect, reason).at(field));
        }
        // `list[3]` and `line 3` are one of many.
        let place = |field: &str| field.find(|c: char| c == '[' || c.is_ascii_digit()).unwrap_or(field.len());
        let alike = |finding: &&Finding| {
            finding.defect == defect
                && finding.file == self.file
                && finding.field[..place(&finding.field)] == field[..place(&field)]
        };
        if self.tolerated.iter().filter(alike).count() < LISTED {
            self.tolerated.push(Finding { defect, file: self.file.clone(), field, reason });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strict_report_refuses_what_another_lists() {
        let mut report = Report::new(false);
        report.reads("a.json");
        for i in 0..LISTED + 5 {
            report.tolerate(Defect::Ignored, format!("list[{i}]"), "has no effect").unwrap();
            report.tolerate(Defect::Ignored, format!("line {i}"), "has no effect").unwrap();
        }
        report.tolerate(Defect::Ignored, "other", "has no effect").unwrap();
        assert_eq!(report.tolerated().len(), 2 * LISTED + 1);
        let error = Report::new(true).tolerate(Defect::Ignored, "x", "has no effect").unwrap_err();
        assert_eq!(error.field.to_string(), "x");
    }

    #[test]
    fn what_a_file_gave_is_listed_once() {
        let mut report = Report::default();
        report.reads("a.json");
        report.gave("model");
        report.reads("b.json");
        report.gave("roles");
        report.gave_from("a.json", "model");
        let files = [
            ("a.json".to_owned(), vec!["model".to_owned()]),
            ("b.json".to_owned(), vec!["roles".to_owned()]),
        ];
        assert_eq!(report.files(), files);
    }
}
