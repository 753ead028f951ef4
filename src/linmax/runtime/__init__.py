"""The state of a learner and its control flow: growth, chunks, threads, and the single-item path."""
