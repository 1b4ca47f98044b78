"""Progress logging, memory, imports and interrupts of a run."""
