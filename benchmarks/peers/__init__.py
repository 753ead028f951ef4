"""Other on-line learners, run on the same data in a separate environment."""
