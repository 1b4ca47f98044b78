"""Where stages run: the protocol, and the embedded engine."""
