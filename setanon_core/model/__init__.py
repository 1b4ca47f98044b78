"""The nouns that stages pass to each other."""
