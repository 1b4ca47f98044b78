"""Process-level services: progress logging, memory, garbage collection, interrupts."""
