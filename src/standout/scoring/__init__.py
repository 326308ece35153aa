"""Plans, partials and the kernels that turn one into the other: arrays in, arrays out."""
