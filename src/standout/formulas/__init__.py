"""One file per paper: scalars (or arrays of them) in, scalars out, each with its equation and a doctest."""
