"""Fault injection: killed processes, full disks and other faults during releases; `make faults`."""
