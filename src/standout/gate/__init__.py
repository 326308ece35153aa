"""The release gate: a policy with limits, the verdict, and the evidence for it."""
