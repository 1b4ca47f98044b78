"""Time formats: detected, or set by `time_format`."""

# ruff: noqa: DTZ001 - times of a log have no zone

from datetime import datetime, timedelta

import pytest
from support.source_rows import HEADER, ROW, accepted, rejected

from setanon_core.errors import MalformedInputError


def test_digits_are_a_date_only_if_most_times_are(read):
    data = HEADER + b"u\t2024-01-02\ta\nu\t2024-01-03\tb\nu\t240102030405\tc\n"
    assert rejected(read(data)) == [(4, "time unreadable")]
    data += b"u\t240102030406\tc\nu\t240102030407\tc\n"
    assert len(accepted(read(data))) == 5


@pytest.mark.parametrize("most", ["2024-01-02T03:04:05", "1704164645", "1704164645000"])
def test_iso_and_epoch_times_may_be_mixed(read, most):
    others = "2024-01-02 03:04:05", "1704164645", "1704164645000", "1704164645000000"
    lines = "".join(f"u1\t{text}\tpine straw\n" for text in (most, most, *others))
    result = read(HEADER + lines.encode())
    assert accepted(result) == [(*ROW, line) for line in range(2, 8)]
    assert result.rejected_by_reason == {}


@pytest.mark.parametrize(
    ("time_format", "text"),
    [
        ("%d/%m/%Y %H.%M.%S", "02/01/2024 03.04.05"),
        ("%Y-%m-%d %H:%M:%S %z", "2024-01-02 04:04:05 +0100"),
        ("epoch", "1704164645.0"),
        ("epoch_ms", "1704164645000"),
        ("epoch_us", "1704164645000000"),
        ("yymmddhhmmss", "240102030405"),
    ],
)
def test_a_time_format_can_be_set(read, time_format, text):
    result = read(HEADER + f"u1\t{text}\tpine straw\n".encode(), time_format=time_format)
    assert accepted(result) == [(*ROW, 2)]


@pytest.mark.parametrize(
    "text",
    ["2024-01-02 03:04:05,5", "2024-01-02T04:04:05,500+01:00", "1704164645,5", "1704164645.5"],
)
def test_a_comma_after_the_seconds_is_a_decimal_comma(read, text):
    result = read(HEADER + f"u1\t{text}\tq\n".encode())
    assert accepted(result)[0][1] == datetime(2024, 1, 2, 3, 4, 5, 500_000)


def test_a_comma_in_a_short_number_is_not_guessed(read):
    with pytest.raises(MalformedInputError, match="time unreadable: 1"):
        read(HEADER + b"u1\t1,704\tq\n", time_format="epoch")


def slashed(*days):
    return HEADER + "".join(f"u1\t{day} 10:00\tq\n" for day in days).encode()


def test_both_readings_of_an_ambiguous_date_are_suggested(read):
    message = "Set time_format='%d/%m/%Y %H:%M' or '%m/%d/%Y %H:%M', which reads these times"
    with pytest.raises(MalformedInputError) as error:
        read(slashed("02/03/2026", "04/03/2026"))
    assert message in str(error.value)


def test_only_formats_that_read_all_unread_times_are_suggested(read):
    with pytest.raises(MalformedInputError, match=r"Set time_format='%d/%m/%Y %H:%M', which"):
        read(slashed("02/03/2026", "14/03/2026"))
    with pytest.raises(MalformedInputError, match=r"Set time_format, by name or as a strptime"):
        read(slashed("02/13/2026", "14/03/2026"))
    # The suggestion is also made if most times are readable.
    iso = b"".join(b"u1\t2026-03-%02d\tq\n" % day for day in range(1, 10))
    with pytest.raises(MalformedInputError, match=r"Set time_format='%m/%d/%Y %H:%M', which"):
        read(HEADER + iso + slashed("02/13/2026").removeprefix(HEADER), max_rejected=0.01)


def test_eight_digits_are_epoch_seconds_only_if_the_format_is_set(read):
    data = HEADER + b"u1\t20240102\tq\n"
    with pytest.raises(MalformedInputError, match="time unreadable: 1"):
        read(data)
    assert accepted(read(data, time_format="epoch"))[0][1] == datetime(1970, 1, 1) + timedelta(
        seconds=20240102
    )
