"""Records × items: reading them, keeping them, indexing them."""
