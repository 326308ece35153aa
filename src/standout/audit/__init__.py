"""The audit: attack records with each adversary's knowledge, evaluate, and report as findings."""
