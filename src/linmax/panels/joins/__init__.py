"""Several files joined to one table: votes and labels apart, or one file per expert."""
