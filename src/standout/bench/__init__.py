"""`standout bench`: how fast this machine scores, against plain C and against what one would use otherwise."""
