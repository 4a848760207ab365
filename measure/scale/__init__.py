"""Scale: files larger than memory, killed fits, Dask, a million samples."""
