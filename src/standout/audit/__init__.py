"""The audit: who is attacked by whom, how it went, and what may be said of it."""
