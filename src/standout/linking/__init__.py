"""Linking a second file of facts about people to a release."""
