"""Time formats: detected, or set by `time_format`."""

# ruff: noqa: DTZ001 - times of a log have no zone

from datetime import datetime, timedelta

import pytest
from support.source_rows import HEADER, ROW, accepted, rejected

from setanon_core.errors import MalformedInputError


def test_all_times_of_a_file_must_have_one_format(read):
    result = read(HEADER + b"u\t2024-01-02\ta\nu\t2024-01-03\tb\nu\t240102030405\tc\n")
    assert rejected(result) == [(4, "time unreadable")]


@pytest.mark.parametrize(
    ("time_format", "text"),
    [
        ("%d/%m/%Y %H.%M.%S", "02/01/2024 03.04.05"),
        ("%Y-%m-%d %H:%M:%S %z", "2024-01-02 04:04:05 +0100"),
        ("epoch", "1704164645.0"),
        ("yymmddhhmmss", "240102030405"),
    ],
)
def test_a_time_format_can_be_set(read, time_format, text):
    result = read(HEADER + f"u1\t{text}\tpine straw\n".encode(), time_format=time_format)
    assert accepted(result) == [(*ROW, 2)]


def test_eight_digits_are_epoch_seconds_only_if_the_format_is_set(read):
    data = HEADER + b"u1\t20240102\tq\n"
    with pytest.raises(MalformedInputError, match="time unreadable: 1"):
        read(data)
    assert accepted(read(data, time_format="epoch"))[0][1] == datetime(1970, 1, 1) + timedelta(
        seconds=20240102
    )
