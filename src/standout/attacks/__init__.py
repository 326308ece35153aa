"""The attacks: each compiles knowledge into a plan and decides when it dares to answer."""
