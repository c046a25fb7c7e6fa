//! The report of loading: which file supplied which part, and what was tolerated.
//!
//! Readers write into a [`Report`] while they read. A defect that the format's own library ignores
//! is reported with [`Report::tolerate`], which returns an error in strict loading.
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tokenmill_core::charsmap::Charsmap;
use tokenmill_core::description::{Decoding, Description, Roles};
use tokenmill_core::error::{Defect, Error, Result};
use tokenmill_core::pattern::named_splits::name_given;

use crate::manifest::Annotations;

/// The findings of loading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    files: Vec<(String, Vec<String>)>,
    tolerated: Vec<Finding>,
    notes: Vec<String>,
    /// The name of the split that belongs to a published file.
    split_name: Option<&'static str>,
    /// What the manifest beside the files says without effect on the tokenizer.
    annotations: Annotations,
    is_strict: bool,
    /// The folder of the files.
    folder: PathBuf,
    /// The file that is being read.
    file: String,
}

/// A defect that was tolerated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The kind of defect; the same as that of the error in strict loading.
    pub defect: Defect,
    /// The file it is in.
    pub file: String,
    /// The field or line in the file.
    pub field: String,
    /// What was found, and how it was read.
    pub reason: String,
}

/// A report as an image keeps it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SavedReport {
    files: Vec<(String, Vec<String>)>,
    /// Kind, file, field and reason of each.
    tolerated: Vec<[String; 4]>,
    notes: Vec<String>,
    split_name: Option<String>,
    annotations: Annotations,
}

impl SavedReport {
    pub(crate) fn of(report: &Report) -> Self {
        let finding = |Finding { defect, file, field, reason }: &Finding| {
            [defect.as_str().to_owned(), file.clone(), field.clone(), reason.clone()]
        };
        Self {
            files: report.files.clone(),
            tolerated: report.tolerated.iter().map(finding).collect(),
            notes: report.notes.clone(),
            split_name: report.split_name.map(str::to_owned),
            annotations: report.annotations.clone(),
        }
    }

    /// `None` if it names a kind of defect or a split that does not exist.
    pub(crate) fn into_report(self) -> Option<Report> {
        let finding = |[kind, file, field, reason]: [String; 4]| {
            Some(Finding { defect: Defect::by_name(&kind)?, file, field, reason })
        };
        let split_name = match &self.split_name {
            Some(name) => Some(name_given(name)?),
            None => None,
        };
        Some(Report {
            files: self.files,
            tolerated: self.tolerated.into_iter().map(finding).collect::<Option<_>>()?,
            notes: self.notes,
            split_name,
            annotations: self.annotations,
            ..Report::default()
        })
    }
}

/// Maximum number of listed findings of one kind at one place; further ones are counted.
const LISTED: usize = 100;

impl Report {
    /// An empty report; a strict one turns everything tolerated into an error.
    pub fn new(is_strict: bool) -> Self {
        Self { is_strict, ..Self::default() }
    }

    /// An empty report on files of a folder.
    pub(crate) fn on_folder(folder: &Path, is_strict: bool) -> Self {
        Self { folder: folder.to_owned(), ..Self::new(is_strict) }
    }

    /// Each file that was read, by name, with the parts that it supplied.
    pub fn files(&self) -> &[(String, Vec<String>)] {
        &self.files
    }

    /// The tolerated defects, in order.
    pub fn tolerated(&self) -> &[Finding] {
        &self.tolerated
    }

    /// The decisions made, with reasons.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The name of the split, of a published file that holds none itself or as the manifest has it.
    pub fn split_name(&self) -> Option<&'static str> {
        self.split_name
    }

    /// What the manifest beside the files says that has no effect on the tokenizer.
    pub fn annotations(&self) -> &Annotations {
        &self.annotations
    }

    /// Records what the manifest beside the files says.
    pub(crate) fn set_annotations(&mut self, annotations: Annotations) {
        self.annotations = annotations;
    }

    /// Records the name of the split of a published file.
    pub(crate) fn set_split_name(&mut self, name: &'static str) {
        self.split_name = Some(name);
    }

    /// Sets the file that is being read.
    pub(crate) fn set_file(&mut self, file: &str) {
        file.clone_into(&mut self.file);
        if !self.files.iter().any(|(name, _)| name == file) {
            self.files.push((file.to_owned(), Vec::new()));
        }
    }

    /// Records that the current file supplied `what`.
    pub(crate) fn add_part(&mut self, what: &str) {
        let file = self.file.clone();
        self.add_part_of(&file, what);
    }

    /// Records that a file supplied `what`.
    pub(crate) fn add_part_of(&mut self, file: &str, what: &str) {
        let index = self.files.iter().position(|(name, _)| name == file).unwrap_or_else(|| {
            self.files.push((file.to_owned(), Vec::new()));
            self.files.len() - 1
        });
        let given = &mut self.files[index].1;
        if !given.iter().any(|known| known == what) {
            given.push(what.to_owned());
        }
    }

    /// Records that the current file supplied all that the description has.
    pub(crate) fn add_parts(&mut self, description: &Description) {
        let parts = [
            ("vocabulary", true),
            ("added_tokens", !description.added_tokens.is_empty()),
            ("normalizer", !description.normalizer.is_empty()),
            ("pre_tokenizer", !description.pre_tokenizer.is_empty()),
            ("post_processor", !description.post_processor.is_empty()),
            ("decoder", description.decoding != Decoding::Spaced),
            ("truncation", description.truncation.is_some()),
            ("padding", description.padding.is_some()),
            ("roles", description.roles != Roles::default()),
        ];
        for (what, _) in parts.iter().filter(|(_, is_there)| *is_there) {
            self.add_part(what);
        }
    }

    /// Records a decision.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Tolerates a character map that has a defect but can be walked.
    ///
    /// # Errors
    /// As [`Self::tolerate`].
    pub(crate) fn tolerate_map(&mut self, map: &[u8], field: impl FnOnce() -> String) -> Result<()> {
        match Charsmap::doubt(map) {
            Some(reason) => self.tolerate(Defect::Charsmap, field(), reason),
            None => Ok(()),
        }
    }

    /// Tolerates a defect.
    ///
    /// # Errors
    /// The defect as a format error that names the file, in strict loading.
    pub(crate) fn tolerate(
        &mut self,
        defect: Defect,
        field: impl Into<String>,
        reason: impl Into<String>,
    ) -> Result<()> {
        let (field, reason) = (field.into(), reason.into());
        if self.is_strict {
            let error = Error::format(defect, reason).at(field);
            return Err(if self.file.is_empty() {
                error
            } else {
                error.in_file(&self.folder.join(&self.file))
            });
        }
        // `list[3]` and `line 3` count as one place.
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
        report.set_file("a.json");
        for i in 0..LISTED + 5 {
            report.tolerate(Defect::Ignored, format!("list[{i}]"), "has no effect").unwrap();
            report.tolerate(Defect::Ignored, format!("line {i}"), "has no effect").unwrap();
        }
        report.tolerate(Defect::Ignored, "other", "has no effect").unwrap();
        assert_eq!(report.tolerated().len(), 2 * LISTED + 1);
        let mut report = Report::on_folder(Path::new("folder"), true);
        report.set_file("a.json");
        let error = report.tolerate(Defect::Ignored, "x", "has no effect").unwrap_err();
        assert_eq!(error.field.to_string(), "x");
        assert_eq!(error.path.as_deref(), Some(Path::new("folder/a.json")));
    }

    #[test]
    fn a_saved_report_says_the_same() {
        let mut report = Report::default();
        report.set_file("a.json");
        report.add_part("model");
        for defect in ["cannot-hold", "type", "ignored"].map(|name| Defect::by_name(name).unwrap()) {
            report.tolerate(defect, "x", "has no effect").unwrap();
        }
        report.note("it is read");
        report.set_split_name("gpt2");
        report.set_annotations(
            Annotations::default().with_given(r#"{"think_end_id": 7, "corpus": [1]}"#).unwrap(),
        );
        let saved = serde_json::to_vec(&SavedReport::of(&report)).unwrap();
        let again = serde_json::from_slice::<SavedReport>(&saved).unwrap().into_report().unwrap();
        assert_eq!(Report { file: "a.json".to_owned(), ..again }, report);
        let mut other = SavedReport::of(&report);
        other.tolerated[0][0] = "no kind".to_owned();
        assert!(other.into_report().is_none());
    }

    #[test]
    fn what_a_file_gave_is_listed_once() {
        let mut report = Report::default();
        report.set_file("a.json");
        report.add_part("model");
        report.set_file("b.json");
        report.add_part("roles");
        report.add_part_of("a.json", "model");
        let files = [
            ("a.json".to_owned(), vec!["model".to_owned()]),
            ("b.json".to_owned(), vec!["roles".to_owned()]),
        ];
        assert_eq!(report.files(), files);
    }
}
