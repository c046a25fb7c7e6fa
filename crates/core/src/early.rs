//! Runs the one-time initialisation of our dependencies before threads start.
//!
//! A dependency blocks while another thread initialises it, so a child forked at that moment would
//! block for ever. A process that may fork calls [`make`] before it starts threads.
use foldhash::fast::RandomState;
use regex_automata::meta::Regex;
use regex_automata::util::pool::Pool;

/// Initialises the dependencies. Further calls are cheap.
pub fn make() {
    // Seed of all hash tables.
    let _ = RandomState::default();
    // Number of processors, cached in two places.
    drop(Pool::<(), _>::with_available_parallelism_capacity(|| ()));
    let _ = Regex::new("");
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_can_be_made_again() {
        super::make();
        super::make();
    }
}
