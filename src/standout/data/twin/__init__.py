"""A synthetic release with the marginals of the Netflix Prize data."""
