"""Section 5.1: the queries of a session, separated into threads by topic."""
