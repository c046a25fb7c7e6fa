//! Levels: the instruction sets that vector routines may use. The level is detected once, and tests can force
//! another.
//!
//! A level never changes a result, only the time it takes.
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// The levels for which routines are written, from what every machine has to the widest vectors.
///
/// A new level is chosen where the others are: in `planes/mod.rs`, `planes/characters.rs`, `planes/lanes/mod.rs`,
/// `ascii_pairs.rs`, `batch_merge/mod.rs`, `short_table/lookup.rs`, `word_bits.rs`, and in [`has_byte_compress`] and
/// [`level`]. All of them have a case for other levels, so the compiler names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// Words of 8 bytes, without vector instructions.
    Portable = 1,
    /// Vectors of 128 bits, on every 64-bit ARM processor.
    Neon = 2,
    /// Vectors of 256 bits, and the bit instructions BMI1, BMI2, LZCNT and POPCNT.
    Avx2 = 3,
    /// Vectors of 512 bits with masks: AVX-512 F, BW and VL, and all of [`Self::Avx2`].
    Avx512 = 4,
}

impl Level {
    /// All levels, whether or not this machine has them.
    pub const ALL: [Self; 4] = [Self::Portable, Self::Neon, Self::Avx2, Self::Avx512];

    /// The name of the level for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Neon => "neon",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The level with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Does this machine have the level?
    #[inline]
    pub fn is_available(self) -> bool {
        let known = match AVAILABLE.load(Ordering::Relaxed) {
            0 => detect_available(),
            known => known,
        };
        known >> self as u8 & 1 == 1
    }

    /// Asks the processor whether it has the level.
    fn is_detected(self) -> bool {
        match self {
            Self::Portable => true,
            Self::Neon => cfg!(target_arch = "aarch64"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("lzcnt")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_detected()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }
}

/// A bit for each level that the machine has. 0 before detection.
static AVAILABLE: AtomicU8 = AtomicU8::new(0);

#[cold]
fn detect_available() -> u8 {
    let found = Level::ALL.into_iter().filter(|level| level.is_detected());
    #[cfg(test)]
    let found = found.filter(|&level| level <= tests::widest());
    let found = found.fold(0, |bits, level| bits | 1 << level as u8);
    AVAILABLE.store(found, Ordering::Relaxed);
    found
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The current level as a number. 0 before detection.
static CURRENT: AtomicU8 = AtomicU8::new(0);

/// May the vector routines of this level compress selected bytes of a vector? This takes AVX-512 VBMI2, which some
/// machines with AVX-512 lack. On these, the routines of a lower level run instead.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_byte_compress(level: Level) -> bool {
    level == Level::Avx512 && level.is_available() && is_x86_feature_detected!("avx512vbmi2")
}

/// The levels that this machine has, the widest last.
pub fn available() -> Vec<Level> {
    Level::ALL.into_iter().filter(|level| level.is_available()).collect()
}

/// The current level: the widest that the machine has, unless another one is forced.
#[inline]
pub fn level() -> Level {
    match CURRENT.load(Ordering::Relaxed) {
        1 => Level::Portable,
        2 => Level::Neon,
        3 => Level::Avx2,
        4 => Level::Avx512,
        _ => use_widest(),
    }
}

#[cold]
fn use_widest() -> Level {
    let widest = Level::ALL.into_iter().rev().find(|level| level.is_available()).unwrap_or(Level::Portable);
    CURRENT.store(widest as u8, Ordering::Relaxed);
    widest
}

/// Makes `level` the current level in every thread. `None` selects the widest one again. A call that is already
/// running may finish on its old level.
///
/// # Errors
/// Returns the level if this machine does not have it. Nothing changes then.
pub fn force(level: Option<Level>) -> Result<(), Level> {
    match level {
        Some(level) if !level.is_available() => Err(level),
        Some(level) => {
            CURRENT.store(level as u8, Ordering::Relaxed);
            Ok(())
        }
        None => {
            use_widest();
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests can be run as on a machine that has no level above the one that `TOKENMILL_LEVEL` names.
    pub(super) fn widest() -> Level {
        let name = std::env::var("TOKENMILL_LEVEL");
        name.map_or(Level::Avx512, |name| {
            Level::named(&name).expect("TOKENMILL_LEVEL is the name of a level")
        })
    }

    #[test]
    fn names_and_levels_are_one_to_one() {
        for level in Level::ALL {
            assert_eq!(Level::named(level.name()), Some(level));
            assert_eq!(level.to_string(), level.name());
        }
        assert_eq!(Level::named("AVX2"), None);
    }

    #[test]
    fn a_level_is_forced_only_where_it_is_available() {
        let widest = *available().last().unwrap();
        for wanted in Level::ALL {
            if wanted.is_available() {
                assert_eq!(force(Some(wanted)), Ok(()));
                assert_eq!(level(), wanted);
            } else {
                let before = level();
                assert_eq!(force(Some(wanted)), Err(wanted));
                assert_eq!(level(), before);
            }
        }
        assert_eq!(force(None), Ok(()));
        assert_eq!(level(), widest);
    }
}
