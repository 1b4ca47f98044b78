"""Attributes of threads, such as days and clicked hosts: items of their own kinds (section 5.5)."""
