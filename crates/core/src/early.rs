//! Initialises what our dependencies initialise once in a process, on first use.
//!
//! They block while another thread does so, and a process forked in that moment would block for ever. A process that may
//! fork calls this before it starts threads.
use foldhash::fast::RandomState;
use regex_automata::meta::Regex;
use regex_automata::util::pool::Pool;

/// Initialises it. Further calls cost next to nothing.
pub fn make() {
    // The seed of all hash tables.
    let _ = RandomState::default();
    // The number of processors, which is cached in two places.
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
