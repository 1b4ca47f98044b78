"""The engine spark on a standalone cluster: a master and two workers, on this machine."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from threading import Thread

import pytest
from support.processes import SECONDS, children_of, command_of, wait_until
from support.release_runs import release_config, run_release
from support.spark import (
    EXPECTED_WARNINGS,
    PARAMS,
    QUICK,
    anonymized,
    embedded_files,
    skip_without_spark,
    stage_files,
    write_raw,
)

from setanon_core.partition import plan
from setanon_dagster.engines.spark import SparkEngine
from setanon_dagster.engines.spark_executor import use_spark_tasks
from setanon_dagster.stages.threads import SCHEMA, separate

pytestmark = [pytest.mark.spark_cluster, *EXPECTED_WARNINGS]

DEPLOY = "org.apache.spark.deploy"
HOST = "127.0.0.1"
SMALL_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def free_port():
    with socket.socket() as opened:
        opened.bind((HOST, 0))
        return opened.getsockname()[1]


def is_open(port):
    with socket.socket() as opened:
        return opened.connect_ex((HOST, port)) == 0


def executors_of(worker):
    """Process ids of the executors that this worker started; it may have other children, too."""
    return [pid for pid in children_of(worker.pid) if "ExecutorBackend" in command_of(pid)]


def start(resources, folder, name, *arguments):
    """Start a daemon in the foreground; it is killed by its id, with its executors, at the end."""
    import pyspark

    home = Path(pyspark.__file__).parent
    log = resources.enter_context((folder / f"{name}.log").open("wb"))
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": SMALL_JAVA,
        "SPARK_LOCAL_IP": HOST,
    }
    process = subprocess.Popen(  # noqa: S603 - PySpark's own script
        [str(home / "bin" / "spark-class"), *arguments],
        env=environment,
        stdout=log,
        stderr=log,
    )

    def stop():
        process.terminate()  # a worker ends its executors when it is terminated
        process.wait(SECONDS)

    resources.callback(stop)
    return process


@pytest.fixture
def cluster(tmp_path):
    """The URL of the master, and the processes of the two workers."""
    skip_without_spark()
    port = free_port()
    address = ["--host", HOST, "--port", str(port), "--webui-port", "0"]
    with ExitStack() as resources:
        start(resources, tmp_path, "master", f"{DEPLOY}.master.Master", *address)
        wait_until(lambda: is_open(port))
        url = f"spark://{HOST}:{port}"
        workers = []
        for name in ("first", "second"):
            limits = ["--cores", "1", "--memory", "700m", "--work-dir", str(tmp_path / name)]
            web = ["--host", HOST, "--webui-port", "0"]
            worker = f"{DEPLOY}.worker.Worker"
            workers.append(start(resources, tmp_path, name, worker, *limits, *web, url))
        yield url, workers


def settings():
    return QUICK | {
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.executor.memory": "600m",
        "spark.executor.extraJavaOptions": SMALL_JAVA,
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }


def slow_separate(folder):
    """`separate`, which tells by a file that it was called, and then waits."""

    def function(table):
        (Path(folder) / str(os.getpid())).touch()
        time.sleep(1)
        return separate(table, PARAMS.measure, PARAMS.unit)

    return function


def test_cluster_writes_the_files_of_the_embedded_engine_although_an_executor_is_killed(
    tmp_path, cluster, monkeypatch
):
    url, workers = cluster
    expected = embedded_files(tmp_path)
    raw = str(write_raw(tmp_path / "raw_7", 7))
    called = tmp_path / "called"
    called.mkdir()
    engine = SparkEngine(
        tmp_path / "spill", master=url, settings=settings(), partitions=7, chunk_rows=20
    )
    with engine:
        wait_until(lambda: all(executors_of(worker) for worker in workers))
        assert stage_files(engine, raw, tmp_path) == expected

        victim = executors_of(workers[1])[0]

        def kill():
            wait_until(lambda: len(list(called.iterdir())) >= 2)
            os.kill(victim, signal.SIGKILL)

        killer = Thread(target=kill)
        killer.start()
        separated = engine.group_map(
            engine.read(raw),
            "user",
            "time, line",
            slow_separate(str(called)),
            SCHEMA,
        )
        killer.join()
        assert victim not in executors_of(workers[1])
        threads = engine.number_runs(separated, "thread", "position")
        engine.write(threads, str(tmp_path / "killed.parquet"))

        monkeypatch.setattr(plan, "PLACE", 40)
        in_process = anonymized(tmp_path)
        with use_spark_tasks(engine.session):
            assert anonymized(tmp_path) == in_process
    assert (tmp_path / "killed.parquet").read_bytes() == expected["threads"]


def spark_submit():
    """PySpark's own command."""
    import pyspark

    command = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    return (str(command), "--master", "local[2]", "--conf", f"spark.driver.host={HOST}")


def test_release_with_the_engine_spark_publishes_the_bytes_of_the_embedded_engine(
    tmp_path, monkeypatch
):
    skip_without_spark()
    monkeypatch.setenv("SETANON_SECRET", "made up for a test")
    monkeypatch.setattr(plan, "PLACE", 4)  # several places: Spark groups them
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    settings = tuple(f"{name}={value}" for name, value in QUICK.items())
    engines = {
        "embedded": {},
        "spark": {"engine": "spark", "spark_master": "local[2]", "spark_settings": settings},
        "submitted": {"engine": "spark", "spark_submit": spark_submit()},
    }
    files = {}
    for name, parameters in engines.items():
        config = release_config(tmp_path, out=str(tmp_path / name), **parameters)
        assert run_release(config).success
        published = [path for path in config.folder.rglob("*.parquet") if path.is_file()]
        files[name] = {
            str(path.relative_to(config.folder)): path.read_bytes() for path in published
        }
    assert len(files["embedded"]) > 5
    assert files["spark"] == files["embedded"]
    assert files["submitted"] == files["embedded"]
