"""Other on-line learners on the same votes; they live in an environment of their own, never in linmax's."""
