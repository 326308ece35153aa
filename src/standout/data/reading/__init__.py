"""Files, folders, databases and frames become a `Dataset`."""
