//! Chat templates: how a conversation becomes text. Here they are sources under names, kept as they
//! are; nothing in them is parsed or executed.
use std::sync::Arc;
use tokenmill_kernels::sorting;

use crate::error::{Error, Result};

/// Maximum length of a template in bytes. Published ones have up to 20 kB.
const LONGEST: usize = 1 << 20;

/// Maximum length of a name in bytes.
const LONGEST_NAME: usize = 255;

/// Named chat templates, in the order in which they were given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChatTemplates(Vec<(String, Arc<str>)>);

impl ChatTemplates {
    /// The name of the template for calls that name none.
    pub const DEFAULT: &'static str = "default";

    /// Maximum number of templates of a tokenizer. Published ones have up to three.
    pub const MOST: usize = 100;

    /// Checks the length of a template, which may be known before it is read.
    ///
    /// # Errors
    /// A limit error.
    pub fn check_length(length: u64) -> Result<()> {
        if length > LONGEST as u64 {
            let reason = format!("{length} bytes are more than a chat template can have, {LONGEST}");
            return Err(Error::limit(reason, LONGEST as u64));
        }
        Ok(())
    }

    /// Sets a template. One that has a name keeps its place.
    ///
    /// # Errors
    /// A limit error for too many templates, and for a name or a source that is too long.
    pub fn set(&mut self, name: &str, source: &str) -> Result<()> {
        Self::check_length(source.len() as u64)?;
        if name.len() > LONGEST_NAME {
            let reason = format!(
                "{} bytes are more than the name of a chat template can have, {LONGEST_NAME}",
                name.len()
            );
            return Err(Error::limit(reason, LONGEST_NAME as u64));
        }
        if let Some((_, known)) = self.0.iter_mut().find(|(known, _)| known == name) {
            *known = source.into();
            return Ok(());
        }
        if self.0.len() == Self::MOST {
            let reason = format!("there are more than {} chat templates", Self::MOST);
            return Err(Error::limit(reason, Self::MOST as u64));
        }
        self.0.push((name.to_owned(), source.into()));
        Ok(())
    }

    /// Removes a template; false if there is none with this name.
    pub fn remove(&mut self, name: &str) -> bool {
        let count = self.0.len();
        self.0.retain(|(known, _)| known != name);
        self.0.len() < count
    }

    /// The source of a template.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, source)| source)
    }

    /// Names and sources.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> + Clone {
        self.0.iter().map(|(name, source)| (name.as_str(), &**source))
    }

    /// The number of templates.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Is there no template?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same templates in the order of their names. The order has no meaning.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        sorting::sort(&mut self.0);
        self
    }

    /// Heap bytes.
    pub fn memory(&self) -> usize {
        let texts: usize = self.iter().map(|(name, source)| name.len() + source.len()).sum();
        texts + self.0.capacity() * size_of::<(String, Arc<str>)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    fn limit(result: Result<()>) -> u64 {
        match result.unwrap_err().into_kind() {
            Kind::Format { limit: Some(limit), .. } => limit,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_name_keeps_its_place_and_has_one_source() {
        let mut templates = ChatTemplates::default();
        for (name, source) in [("b", "1"), ("default", "2"), ("b", "3")] {
            templates.set(name, source).unwrap();
        }
        assert_eq!(templates.iter().collect::<Vec<_>>(), [("b", "3"), ("default", "2")]);
        assert_eq!(templates.get(ChatTemplates::DEFAULT), Some("2"));
        assert!(templates.remove("b") && !templates.remove("b"));
        assert_eq!(templates.get("b"), None);
        templates.set("a", "4").unwrap();
        assert_eq!(templates.clone().sorted().iter().next(), Some(("a", "4")));
        assert_eq!(templates.iter().next(), Some(("default", "2")));
    }

    #[test]
    fn number_and_lengths_are_bounded() {
        let mut templates = ChatTemplates::default();
        templates.set(&"n".repeat(LONGEST_NAME), &"s".repeat(LONGEST)).unwrap();
        assert_eq!(limit(templates.set("a", &"s".repeat(LONGEST + 1))), LONGEST as u64);
        assert_eq!(limit(templates.set(&"n".repeat(LONGEST_NAME + 1), "")), LONGEST_NAME as u64);
        for i in 1..ChatTemplates::MOST {
            templates.set(&i.to_string(), "").unwrap();
        }
        assert_eq!(limit(templates.set("one more", "")), ChatTemplates::MOST as u64);
        templates.set("1", "another source").unwrap();
        assert_eq!(templates.len(), ChatTemplates::MOST);
    }
}
