"""Certificates match their JSON schema; data sheets are complete; claims are read back."""

import json
from dataclasses import fields

import pytest
from support.certificates import SCHEMA, faults_of
from support.publishing import COST, publish_files, stage_files

from setanon_dagster.gate.certificate import COSTS, PARAMETERS
from setanon_dagster.gate.certificate import SCHEMA as VERSION
from setanon_dagster.gate.datasheet import datasheet
from setanon_dagster.verifier.certificate_schema import SCHEMA_FILE, schema_faults
from setanon_dagster.verifier.release_folder import read_claims
from setanon_dagster.verifier.rounded_counts import PRIVATE_COUNTS
from setanon_dagster.verifier.verdict import FileVerdict


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    return publish_files(stage_files(folder / "in"), folder / "out")


@pytest.fixture
def certificate(release):
    return json.loads((release.folder / "certificate.json").read_text())


def test_certificate_matches_its_schema(certificate):
    assert faults_of(certificate) == []
    assert schema_faults(certificate) == []


def test_schema_has_every_field_and_its_version():
    schema = json.loads(SCHEMA.read_text())["properties"]
    assert schema["schema"]["const"] == VERSION
    assert [*schema["verdict"]["properties"]] == [
        field.name for field in fields(FileVerdict) if field.name not in PRIVATE_COUNTS
    ]
    assert tuple(schema["cost"]["properties"]) == (*COSTS, "attributes")
    assert schema["parameters"]["properties"].keys() == PARAMETERS


def test_schema_of_the_package_is_that_of_the_documentation():
    assert SCHEMA_FILE.read_bytes() == SCHEMA.read_bytes()


def field_paths(document, parents=()):
    for name, value in document.items():
        yield (*parents, name)
        if isinstance(value, dict):
            yield from field_paths(value, (*parents, name))


OPTIONAL = {("parameters", name) for name in ("method", "p", "seed", "grouper")}


def test_certificate_without_a_required_field_is_invalid(certificate):
    required = [path for path in field_paths(certificate) if path not in OPTIONAL]
    assert len(required) > 40
    for path in required:
        document = json.loads(json.dumps(certificate))
        inner = document
        for name in path[:-1]:
            inner = inner[name]
        del inner[path[-1]]
        assert faults_of(document), path
        assert schema_faults(document), path


WRONG = [
    ("schema", 1),
    ("unit", "person"),
    ("k", 1),
    ("k", "3"),
    ("k", 2.5),
    ("min_owners", -1),
    ("min_owners", None),
    ("format", "html"),
    ("sha256", {"threads.parquet": "0" * 63}),
    ("sha256", {"threads.parquet": "0" * 64, "ledger.parquet": "0" * 64}),
    ("user", "ann"),
    ("versions", {"setanon": "", "duckdb": "2.0.0"}),
    ("versions", {"setanon": "unknown", "duckdb": "2 ann"}),
]
WRONG_INSIDE = [
    ("cost", "additions", -1),
    ("cost", "factor", 0.5),
    ("cost", "retained", 1.1),
    ("cost", "seconds", 3),
    ("verdict", "violations", 1),
    ("verdict", "rare_keywords", 2),
    ("verdict", "smallest_group", 3),
    ("verdict", "violating_lists", 1),
    ("cost", "deletions", 1234),
    ("cost", "withdrawals", 0),
    ("verdict", "records", 0),
    ("verdict", "user", "ann"),
    ("parameters", "secret", "made up"),
    ("parameters", "Secret_of_ids", "made up"),
    ("parameters", "words", ["made", "up"]),
    ("parameters", "k", 1),
    ("parameters", "note", "ann"),
    ("parameters", "ann", None),
    ("parameters", "method", "ann"),
    ("parameters", "similarity", "ann"),
]


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_certificate_with_a_wrong_field_is_invalid(certificate, field, value):
    assert faults_of(certificate | {field: value})
    assert schema_faults(certificate | {field: value})


@pytest.mark.parametrize(("part", "field", "value"), WRONG_INSIDE)
def test_certificate_with_a_wrong_number_is_invalid(certificate, part, field, value):
    assert faults_of(certificate | {part: certificate[part] | {field: value}})
    faults = schema_faults(certificate | {part: certificate[part] | {field: value}})
    assert faults
    assert "ann" not in str(faults)


def test_claims_of_a_certificate_are_read_back(release):
    claims = read_claims(release.folder)
    assert (claims.k, claims.min_owners, claims.digest) == (3, 3, release.digest)


SECTIONS = {
    "What this is": ["18 threads", "k-anonymous with k = 3", "2 different sets", "threads.parquet"],
    "What k = 3 means": [
        "at least 3 different users",
        "count once",
        "At least 3 users of the source",
    ],
    "How it was made": ["adding and deleting keywords", "arXiv:0810.5582", "| method | best |"],
    "What was removed": [
        "| keywords deleted, including those of withdrawn threads | fewer than 100 |",
        "| threads withdrawn | fewer than 100 |",
        "| keywords added | fewer than 100 |",
        "users, times, clicks",
    ],
    "How to verify": ["sha256sum threads.parquet", "setanon verify ."],
    "What is not promised": ["not differential privacy", "link several threads"],
    "How to cite": ["demo", "Motwani", "setanon"],
}


def sections(sheet):
    parts = sheet.split("\n## ")[1:]
    return {title: text for title, _, text in (part.partition("\n") for part in parts)}


def test_data_sheet_has_all_sections_and_facts(release):
    sheet = (release.folder / "DATASHEET.md").read_text()
    texts = sections(sheet)
    assert list(texts) == list(SECTIONS)
    missing = [
        (title, text)
        for title, facts in SECTIONS.items()
        for text in facts
        if text not in " ".join(texts[title].split())
    ]
    assert missing == []
    assert release.digest in texts["How to verify"]
    assert release.digest in texts["How to cite"]
    assert not [line for line in sheet.splitlines() if len(line) > 110]


@pytest.mark.parametrize("form", ["sets", "queries", "edited"])
@pytest.mark.parametrize("unit", ["user", "record"])
@pytest.mark.parametrize("owners", [0, 2, 3])
def test_every_kind_of_release_has_a_complete_data_sheet(certificate, form, unit, owners):
    changed = certificate | {"format": form, "unit": unit, "min_owners": owners}
    sheet = datasheet("demo", changed | {"cost": COST | {"factor": None}})
    assert list(sections(sheet)) == list(SECTIONS)
    assert "{" not in sheet
    assert "None" not in sheet


@pytest.mark.parametrize(
    ("unit", "meaning", "links"),
    [
        ("thread", "the queries of one user on one topic", "link several threads"),
        ("session", "all queries of one user in this release", "no threads to link"),
        ("query", "one query of one user", "link several queries"),
    ],
)
def test_data_sheet_says_what_a_thread_is_for_the_unit_of_the_release(
    certificate, unit, meaning, links
):
    parameters = certificate["parameters"] | {"unit": unit}
    sheet = " ".join(datasheet("demo", certificate | {"parameters": parameters}).split())
    assert f"A thread is {meaning}" in sheet
    assert links in sheet


@pytest.mark.parametrize("combinations", ["any", "typed"])
def test_data_sheet_says_whether_k_users_typed_each_set_whole(certificate, combinations):
    parameters = certificate["parameters"] | {"combinations": combinations}
    sheet = " ".join(datasheet("demo", certificate | {"parameters": parameters}).split())
    assert ("have each set whole, each of them in one thread" in sheet) == (combinations == "typed")
    assert ("A set may combine keywords" in sheet) == (combinations == "any")
