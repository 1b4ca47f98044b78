"""What a release is still good for: measured on what its readers would do with it."""
