"""Make a `Dataset` from files, folders, databases and frames."""
