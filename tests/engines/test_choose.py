"""The engine of a release follows from its configuration."""

from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
from support.release_runs import materialize, release_config

from setanon_core.partition import plan
from setanon_dagster.engines import choose
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.engines.spark_session import MissingSparkError

STAGES = ("raw_log", "rejected_rows", "threads", "clusters")


def stage_files(config):
    return {
        path.parent.name: path.read_bytes() for path in sorted(config.stages.rglob("all.parquet"))
    }


@pytest.fixture
def spark_config(tmp_path):
    return release_config(
        tmp_path,
        engine="spark",
        spark_master="spark://host:7077",
        memory_limit="2GB",
        spark_settings=("spark.executor.memory=4g", "spark.app.name=a=b"),
    )


def test_threads_and_clusters_run_on_spark_with_its_settings(tmp_path, monkeypatch, spark_config):
    opened = []

    class SparkDouble(EmbeddedEngine):
        def __init__(self, folder, **options):
            opened.append(options)
            super().__init__(folder)

    monkeypatch.setattr(choose, "SparkEngine", SparkDouble)
    assert materialize(spark_config, *STAGES).success
    settings = {"spark.executor.memory": "4g", "spark.app.name": "a=b"}
    options = {
        "master": "spark://host:7077",
        "settings": settings,
        "session": None,
        "memory_limit": "500MB",
    }
    assert opened == [options] * 2
    embedded = release_config(tmp_path, out=str(tmp_path / "other"))
    assert materialize(embedded, *STAGES).success
    assert len(opened) == 2
    assert stage_files(embedded) == stage_files(spark_config)


def test_missing_spark_fails_the_stage_with_its_sentence(monkeypatch, spark_config):
    def missing(*_, **__):
        raise MissingSparkError("Java 17 or later must be installed.")

    monkeypatch.setattr(choose, "SparkEngine", missing)
    result = materialize(spark_config, *STAGES)
    assert not result.success
    assert "Java 17 or later must be installed." in result.failures[0]


@pytest.mark.parametrize(
    ("engine", "threads", "expected"),
    [
        ("spark", plan.PLACE + 1, ["the session"]),
        ("spark", plan.PLACE, []),
        ("embedded", plan.PLACE + 1, []),
    ],
)
def test_spark_groups_several_places(tmp_path, monkeypatch, engine, threads, expected):
    used = []

    @contextmanager
    def use(session):
        used.append(session)
        yield

    opened = nullcontext(SimpleNamespace(session="the session"))
    monkeypatch.setattr(choose, "SparkEngine", lambda *_, **__: opened)
    monkeypatch.setattr(choose, "use_spark_tasks", use)
    with choose.use_configured_executor(release_config(tmp_path, engine=engine), threads):
        assert used == expected
