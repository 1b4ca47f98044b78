"""What is published beside the threads has a schema, and sentences that anybody understands."""

import json
from dataclasses import fields

import pytest
from support.certificates import SCHEMA, faults_of
from support.publishing import COST, inputs, published

from setanon_dagster.gate.certificate import COSTS
from setanon_dagster.gate.certificate import SCHEMA as VERSION
from setanon_dagster.gate.datasheet import datasheet
from setanon_dagster.verifier.release_folder import read_claims
from setanon_dagster.verifier.verdict import FileVerdict


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    return published(inputs(folder / "in"), folder / "out")


@pytest.fixture
def certificate(made):
    return json.loads((made.folder / "certificate.json").read_text())


def test_a_certificate_is_what_its_schema_says(certificate):
    assert faults_of(certificate) == []


def test_the_schema_knows_every_field_and_its_own_version():
    schema = json.loads(SCHEMA.read_text())["properties"]
    assert schema["schema"]["const"] == VERSION
    assert list(schema["verdict"]["properties"]) == [field.name for field in fields(FileVerdict)]
    assert tuple(schema["cost"]["properties"]) == COSTS


def places(told, above=()):
    for name, value in told.items():
        yield (*above, name)
        if isinstance(value, dict):
            yield from places(value, (*above, name))


OPTIONAL = {("parameters", name) for name in ("method", "p", "seed", "grouper")}


def test_a_certificate_without_one_of_its_fields_is_refused(certificate):
    required = [place for place in places(certificate) if place not in OPTIONAL]
    assert len(required) > 40
    for place in required:
        told = json.loads(json.dumps(certificate))
        inner = told
        for name in place[:-1]:
            inner = inner[name]
        del inner[place[-1]]
        assert faults_of(told), place


WRONG = [
    ("schema", 2),
    ("unit", "person"),
    ("k", 1),
    ("k", "3"),
    ("k", 2.5),
    ("min_owners", -1),
    ("min_owners", None),
    ("format", "html"),
    ("sha256", {"threads.parquet": "0" * 63}),
    ("sha256", {"threads.parquet": "0" * 64, "ledger.parquet": "0" * 64}),
    ("user", "somebody"),
    ("versions", {"setanon": "", "duckdb": "2.0.0"}),
]
WRONG_INSIDE = [
    ("cost", "additions", -1),
    ("cost", "factor", 0.5),
    ("cost", "retained", 1.1),
    ("cost", "seconds", 3),
    ("verdict", "violations", 1),
    ("verdict", "rare_keywords", 2),
    ("verdict", "smallest_group", 1),
    ("verdict", "records", 0),
    ("verdict", "user", "somebody"),
    ("parameters", "secret", "made up"),
    ("parameters", "Secret_of_ids", "made up"),
    ("parameters", "words", ["made", "up"]),
    ("parameters", "k", 1),
]


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_a_certificate_with_a_wrong_field_is_refused(certificate, field, value):
    assert faults_of(certificate | {field: value})


@pytest.mark.parametrize(("part", "field", "value"), WRONG_INSIDE)
def test_a_certificate_with_a_wrong_number_is_refused(certificate, part, field, value):
    assert faults_of(certificate | {part: certificate[part] | {field: value}})


def test_what_a_certificate_says_can_be_read_again(made):
    said = read_claims(made.folder)
    assert (said.k, said.min_owners, said.digest) == (3, 3, made.digest)


QUESTIONS = {
    "What this is": ["18 threads", "k-anonymous with k = 3", "2 different sets", "threads.parquet"],
    "What k = 3 means": ["at least 3 different users", "count once", "At least 3 users of the source"],
    "How it was made": ["adding and deleting keywords", "arXiv:0810.5582", "| method | best |"],
    "What was removed": [
        "| keywords deleted, including those of withdrawn threads | 2 |",
        "| threads withdrawn | 3 |",
        "| keywords added | 1 |",
        "users, times, clicks",
    ],
    "How to verify": ["sha256sum threads.parquet", "setanon verify threads.parquet --k 3"],
    "What is not promised": ["not differential privacy", "stitched together"],
    "How to cite": ["demo", "Motwani", "setanon"],
}


def sections(sheet):
    parts = sheet.split("\n## ")[1:]
    return {title: text for title, _, text in (part.partition("\n") for part in parts)}


def test_the_data_sheet_answers_what_a_reader_asks(made):
    sheet = (made.folder / "DATASHEET.md").read_text()
    found = sections(sheet)
    assert list(found) == list(QUESTIONS)
    missing = [
        (title, text)
        for title, texts in QUESTIONS.items()
        for text in texts
        if text not in " ".join(found[title].split())
    ]
    assert missing == []
    assert made.digest in found["How to verify"]
    assert made.digest in found["How to cite"]
    assert not [line for line in sheet.splitlines() if len(line) > 110]


@pytest.mark.parametrize("form", ["sets", "queries"])
@pytest.mark.parametrize("unit", ["user", "record"])
@pytest.mark.parametrize("owners", [0, 2, 3])
def test_every_kind_of_release_has_a_whole_sheet(certificate, form, unit, owners):
    told = certificate | {"format": form, "unit": unit, "min_owners": owners}
    sheet = datasheet("demo", told | {"cost": COST | {"factor": None}})
    assert list(sections(sheet)) == list(QUESTIONS)
    assert "{" not in sheet
    assert "None" not in sheet
