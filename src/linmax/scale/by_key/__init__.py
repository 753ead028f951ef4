"""One fusion per key of a data set: the split by key, the buckets, and the store of models."""
