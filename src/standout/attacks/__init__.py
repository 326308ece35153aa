"""The attacks: each compiles knowledge into a plan and decides whether to name the best record."""
