"""Datasets larger than memory: a saved folder whose records are read range by range."""
