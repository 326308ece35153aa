"""What anyone can compute from a release: its entries with other items, or with further channels."""
