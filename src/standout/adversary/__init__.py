"""What an adversary may know, and what she knows of each target."""
