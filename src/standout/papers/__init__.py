"""The figures and tables of the three papers, each a recipe that any release can be put through."""
