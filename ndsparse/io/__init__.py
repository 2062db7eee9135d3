"""Reading and writing files, and the iterators that feed training."""
