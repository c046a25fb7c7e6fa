//! What the libraries beneath make once in a process, when it is needed first.
//!
//! They wait while another thread makes it, which a process that was forked meanwhile would do for ever. Who may fork
//! has it made before there are threads.
use foldhash::fast::RandomState;
use regex_automata::meta::Regex;
use regex_automata::util::pool::Pool;

/// Makes it; doing so again costs next to nothing.
pub fn make() {
    // The seed of all hash tables.
    let _ = RandomState::default();
    // How many processors there are, which is kept at two places.
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
