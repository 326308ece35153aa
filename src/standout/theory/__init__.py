"""Why a release is identifiable: its shape, its sparsity, and what the theorems of the papers say on this very data."""
