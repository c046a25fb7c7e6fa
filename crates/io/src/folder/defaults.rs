//! Defaults of calls, as the settings of a folder have them.
use tokenmill_core::description::{CallDefaults, CallLimits, Description, ModelDescription};
use tokenmill_core::error::{Defect, Result};

use super::Builder;
use crate::report::Report;

impl Builder<'_> {
    /// The defaults of calls.
    pub(super) fn defaults(&self, description: &Description, report: &mut Report) -> Result<CallDefaults> {
        const CLEANS: &str = "clean_up_tokenization_spaces";
        const FORCES: &str = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output";
        let mut clean_up_spaces = self.settings.flag(CLEANS)?.unwrap_or(false);
        if clean_up_spaces
            && matches!(description.model, ModelDescription::Bpe(_))
            && self.settings.flag(FORCES)? != Some(true)
        {
            report.tolerate(Defect::Ignored, CLEANS, "has no effect with byte-pair encoding")?;
            clean_up_spaces = false;
        }
        let special_as_text = self.settings.flag("split_special_tokens")?.unwrap_or(false);
        for (name, counts) in [(CLEANS, clean_up_spaces), ("split_special_tokens", special_as_text)] {
            if counts {
                report.add_part(name);
            }
        }
        Ok(CallDefaults { special_as_text, clean_up_spaces, limits: self.limits(description, report)? })
    }

    /// The sides and the length for truncation and padding. `None` if all of them are usual and
    /// tokenizer.json has neither truncation nor padding nor an unnamed padding token: read by itself, it
    /// would mean something else.
    fn limits(&self, description: &Description, report: &mut Report) -> Result<Option<CallLimits>> {
        let (padding, truncation) = (description.padding.as_ref(), description.truncation);
        let filed = padding.map(|padding| padding.direction);
        let padding_side = self.settings.side("padding_side")?;
        let truncation_side = self.settings.side("truncation_side")?;
        let limits = CallLimits {
            padding_side: padding_side.or(filed).unwrap_or(self.recipe.padding_side),
            truncation_side: truncation_side
                .or(truncation.map(|truncation| truncation.direction))
                .unwrap_or_default(),
            max_length: self.settings.max_length()?,
        };
        for name in ["padding_side", "truncation_side", "model_max_length"] {
            if self.settings.has(name) {
                report.add_part(name);
            }
        }
        let is_usual = limits == CallLimits::default()
            && padding.is_none()
            && truncation.is_none()
            && description.pad() == description.roles.pad;
        Ok((!is_usual).then_some(limits))
    }
}
