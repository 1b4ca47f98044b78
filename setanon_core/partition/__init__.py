"""Partition plan: records are grouped place by place, for logs that do not fit into memory."""
