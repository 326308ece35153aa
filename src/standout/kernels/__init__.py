"""Kernels: P(seen | true) on one channel of an entry, drawn and tabulated."""
