"""`python -m standout` is the command `standout`."""

from standout.cli.start import main

main()
