"""Engines run plans over the shards of a dataset. They do not depend on any attack."""
