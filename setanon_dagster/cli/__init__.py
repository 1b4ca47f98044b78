"""The command line of setanon."""
