"""Swap files while the gate runs: before or after one of its functions."""


def attack_at(monkeypatch, step, attack):
    """Call `attack` before or after a function, (owner, name, when), at its first call."""
    owner, name, when = step
    original, pending = getattr(owner, name), [attack]

    def call(*args, **kwargs):
        if when == "before" and pending:
            pending.pop()()
        result = original(*args, **kwargs)
        if when == "after" and pending:
            pending.pop()()
        return result

    monkeypatch.setattr(owner, name, call)


def replace(path, data):
    """Put another file in the place of a file."""
    other = path.with_name("other")
    other.write_bytes(data)
    other.replace(path)


def rewrite(path, data):
    """Write other bytes into a file."""
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()
