"""What an adversary may know, and what is known of each target."""
