"""Why a release is identifiable: its shape, its sparsity, and what the theorems of the papers imply for it."""
