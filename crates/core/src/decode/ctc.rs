//! Removes the repeats and the padding of speech recognition (CTC), and strings that become empty.
use super::cleanup::clean_up;
use super::{Rest, Step};
use crate::error::Result;

#[derive(Debug, Clone)]
pub(super) struct Ctc {
    pad: String,
    delimiter: String,
    cleanup: bool,
    element: String,
    /// The previous element, unchanged.
    previous: Option<String>,
}

impl Ctc {
    pub(super) fn new(pad: &str, delimiter: &str, cleanup: bool) -> Self {
        Self {
            pad: pad.to_owned(),
            delimiter: delimiter.to_owned(),
            cleanup,
            element: String::new(),
            previous: None,
        }
    }
}

impl Step for Ctc {
    fn part(&mut self, text: &str, _to: &mut Rest<'_, '_>) -> Result<()> {
        self.element.push_str(text);
        Ok(())
    }

    fn end(&mut self, to: &mut Rest<'_, '_>) -> Result<()> {
        let element = std::mem::take(&mut self.element);
        if self.previous.as_ref() == Some(&element) {
            return Ok(());
        }
        let mut text = element.replace(&self.pad, "");
        self.previous = Some(element);
        if self.cleanup {
            clean_up(&mut text);
            text = text.replace(&self.delimiter, " ");
        }
        if text.is_empty() { Ok(()) } else { to.element(&text) }
    }
}
