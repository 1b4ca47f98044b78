"""The command line as the tests call it, and a small log whose words nobody may see."""

from click.testing import CliRunner

from setanon_dagster.cli.main import main

WORDS = ("glimmerwick", "thornbury", "quillfeather", "ambershot", "quxxolot", "kestrel")
"""Words and users of the data, and of nothing else: no output may have them."""

ROWS = [
    *((f"kestrel{n}", f"2006-03-01 08:0{n}:00", "glimmerwick thornbury") for n in range(5)),
    *((f"kestrel{n}", f"2006-03-02 09:0{n}:00", "quillfeather ambershot") for n in range(5)),
    ("kestrel5", "2006-03-03 10:00:00", "quxxolot"),
]
"""Five users look for each of two things; one is alone with a third."""


def text(rows, mark="\t"):
    return "".join(mark.join(row) + "\n" for row in rows)


def write_log(folder, rows=ROWS):
    path = folder / "log.tsv"
    path.write_text(text([("user", "time", "query"), *rows]))
    return path


def call(*arguments):
    """Run a command; whatever it says, it says nothing of the data."""
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    assert silent(result.output)
    assert "Traceback" not in result.output
    return result


def silent(output):
    return not [word for word in WORDS if word in output]
