"""`standout bench`: how fast this machine scores, compared with plain C and with other tools."""
