//! Times the naive trainer: `train_words FILE NUM_MERGES OUT`. FILE holds words between white space, which are in
//! memory before the clock starts; OUT gets a line for each merge, both parts in hex. Prints the seconds.
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::time::Instant;

use tokenmill_reference::{Tie, Training, train};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, num_merges, out] = args.as_slice() else {
        return Err("train_words FILE NUM_MERGES OUT".into());
    };
    let text = std::fs::read_to_string(file)?;
    let start = Instant::now();
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word).or_default() += 1;
    }
    // Characters have ids by code point, and the smaller pair of ids wins a tie.
    let characters: BTreeSet<char> = counts.keys().flat_map(|word| word.chars()).collect();
    let ids: HashMap<char, usize> = characters.iter().enumerate().map(|(id, &char)| (char, id)).collect();
    let alphabet: Vec<Vec<u8>> = characters.iter().map(|char| char.to_string().into_bytes()).collect();
    let mut training = Training {
        sizes: vec![1; alphabet.len()],
        types: counts
            .iter()
            .map(|(word, &count)| (word.chars().map(|char| ids[&char]).collect(), count))
            .collect(),
        alphabet: alphabet.clone(),
        num_merges: num_merges.parse()?,
        tie: Tie::Ranks(Vec::new()),
        min_frequency: 2,
        max_size: None,
    };
    let merges = train(&mut training);
    println!("{}", start.elapsed().as_secs_f64());
    let mut tokens = alphabet;
    let mut lines = String::new();
    for merge in merges {
        let (left, right) = (&tokens[merge.left], &tokens[merge.right]);
        for (part, end) in [(left, ' '), (right, '\n')] {
            part.iter().try_for_each(|byte| write!(lines, "{byte:02x}"))?;
            lines.push(end);
        }
        let joined = [left.as_slice(), right].concat();
        tokens.push(joined);
    }
    std::fs::write(out, lines)?;
    Ok(())
}
