"""Section 5.1: separate user sessions into threads of queries on one topic."""
