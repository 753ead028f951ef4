"""A learner at work: state, growth, chunks, threads, and the single-item path."""
