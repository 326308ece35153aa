"""Changes to the data before release, what they cost, and the frontier of risk against utility."""
