"""The report of findings. Reads plain data, runs no attack, shows no label unless requested."""
