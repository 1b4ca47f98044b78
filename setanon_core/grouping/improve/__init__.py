"""Steps that lower the cost of given groups."""
