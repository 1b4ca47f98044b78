"""Call the command line in-process, on a small log whose words must never be printed."""

from click.testing import CliRunner

from setanon_dagster.cli.main import main

WORDS = ("glimmerwick", "thornbury", "quillfeather", "ambershot", "quxxolot", "kestrel")
"""Words and users of the data; no output may contain them."""

ROWS = [
    *((f"kestrel{n}", f"2006-03-01 08:0{n}:00", "glimmerwick thornbury") for n in range(5)),
    *((f"kestrel{n}", f"2006-03-02 09:0{n}:00", "quillfeather ambershot") for n in range(5)),
    ("kestrel5", "2006-03-03 10:00:00", "quxxolot"),
]
"""Two sets of keywords shared by five users each, and one keyword of a single user."""


def text(rows, delimiter="\t"):
    return "".join(delimiter.join(row) + "\n" for row in rows)


def write_log(folder, rows=ROWS):
    path = folder / "log.tsv"
    path.write_text(text([("user", "time", "query"), *rows]))
    return path


def call(*arguments):
    """Run a command; its output must contain neither data nor a traceback."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert has_no_data(result.output)
    assert "Traceback" not in result.output
    return result


def has_no_data(output):
    return not [word for word in WORDS if word in output]
