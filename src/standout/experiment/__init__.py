"""People attacked in a release, and what became of each of them."""
