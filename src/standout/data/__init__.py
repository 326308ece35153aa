"""Records × items: reading, storing and indexing them."""
