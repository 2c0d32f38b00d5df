"""Files of records: plain and compressed ones, pipes, and what comes in."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner, Result

from api import cli
from api.archives import STANDARD_INPUT, lines_in, size_of, writing
from domain.record_lines import LONGEST_LINE
from domain.record_reading import read_each
from domain.records import BrokenRecord, write_record
from tests.domain.test_audit import GOLDEN

LINES: Final = list(write_record(GOLDEN["given-up"]))
TEXT: Final = b"".join(LINES)


@contextmanager
def pipe_of(text: bytes, folder: Path, name: str = "pipe") -> Iterator[Path]:
    """A pipe out of which some text comes."""
    path = folder / name
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(text,))
    writer.start()
    try:
        yield path
    finally:
        writer.join()


def audit(file: str | Path, given: bytes = b"") -> Result:
    return CliRunner().invoke(cli.app, ["audit", str(file), "--without-log"], input=given)


@pytest.mark.parametrize("name", ["games.jsonl", "games.jsonl.gz"])
def test_what_is_written_is_read_again_line_by_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with writing(path) as write:
        write(LINES)
    with lines_in(path) as (lines, position):
        assert list(lines) == LINES
        assert position() == path.stat().st_size == size_of(path)


def test_the_bytes_that_were_read_are_counted_on_the_way(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_bytes(TEXT)
    with lines_in(path) as (lines, position):
        assert position() == 0
        next(lines)
        next(lines)
        assert position() == len(LINES[0]) + len(LINES[1])


def test_of_a_line_that_is_too_long_all_bytes_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_bytes(b"x" * 5 * LONGEST_LINE + b"\n" + LINES[0])
    with lines_in(path) as (lines, position):
        assert [len(line) for line in lines] == [LONGEST_LINE + 1, len(LINES[0])]
        assert position() == path.stat().st_size


@pytest.mark.parametrize("name", ["pipe", "pipe.gz"])
def test_a_pipe_is_read_as_a_file_is(tmp_path: Path, name: str) -> None:
    text = gzip.compress(TEXT) if name.endswith(".gz") else TEXT
    with pipe_of(text, tmp_path, name) as path, lines_in(path) as (lines, position):
        assert list(lines) == LINES
        assert position() == len(text)


def test_of_a_pipe_nobody_knows_how_long_it_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert size_of(tmp_path / "pipe") is None


def test_what_comes_in_is_named_by_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    coming = io.TextIOWrapper(io.BytesIO(TEXT))
    monkeypatch.setattr(sys, "stdin", coming)
    with lines_in(STANDARD_INPUT) as (lines, position):
        assert list(lines) == LINES
    assert (position(), size_of(STANDARD_INPUT), coming.closed) == (len(TEXT), None, False)


@pytest.mark.parametrize(
    "text",
    [b"x", b"garbage of some length", gzip.compress(TEXT)[:-100], gzip.compress(b"")[:5]],
    ids=["one byte", "no .gz", "cut short", "cut short in its beginning"],
)
def test_a_compressed_file_that_is_broken_is_one_finding(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "games.jsonl.gz"
    path.write_bytes(text)
    with lines_in(path) as (lines, _):
        (broken,) = read_each(lines)
    assert isinstance(broken, BrokenRecord)
    assert "not compressed as .gz files are" in broken.message


def test_garbage_behind_a_compressed_file_is_one_finding(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl.gz"
    path.write_bytes(gzip.compress(TEXT) + b"garbage")
    with lines_in(path) as (lines, _):
        _, broken = read_each(lines)
    assert isinstance(broken, BrokenRecord)
    assert broken.line == len(LINES) + 1


def test_an_audit_takes_a_pipe(tmp_path: Path) -> None:
    with pipe_of(TEXT, tmp_path) as path:
        assert audit(path).exit_code == 0


def test_an_audit_takes_what_comes_in() -> None:
    assert audit("-", TEXT).exit_code == 0
    assert audit("-", TEXT[:-1]).exit_code == 1
