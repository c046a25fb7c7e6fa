"""Real files with one thing damaged in 25 ways a format, and what must come of each."""
