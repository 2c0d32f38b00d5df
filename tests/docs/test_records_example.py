"""The record in docs/records.md is one, and what is said of it there is so."""

from __future__ import annotations

import hashlib
import json
import re
from textwrap import dedent
from typing import Final

from domain.notes import NoteKey, read_receipt
from domain.record_reading import LONGEST_LINE, MOST_BROKEN, MOST_BYTES, MOST_EVENTS, read_record
from domain.records import Closing, Header, write_record
from tests.server import ROOT

PAGE: Final = (ROOT / "docs" / "records.md").read_text("utf-8")
LINES: Final = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0].encode().splitlines(keepends=True)


def test_the_example_is_a_record() -> None:
    assert list(write_record(read_record(LINES).events)) == LINES


def test_the_sum_of_its_lines_is_as_the_page_says() -> None:
    (told,) = re.findall(r"sha256sum\n +(\w+)", PAGE)
    assert told == hashlib.sha256(b"".join(LINES[:-1])).hexdigest() == json.loads(LINES[-1])["sha256"]


def test_every_field_is_on_the_page() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert named == Header.model_fields.keys() | Closing.model_fields.keys()


def test_the_bounds_are_on_the_page() -> None:
    assert f"more than {LONGEST_LINE:,} bytes" in PAGE
    assert f"more than {MOST_EVENTS:,} events" in re.sub(r"\s+", " ", PAGE)
    assert f"more than {MOST_BYTES:,} bytes of them" in PAGE
    assert f"After {MOST_BROKEN} of them" in PAGE


def test_the_headers_of_an_archive_are_found_as_the_page_says() -> None:
    (text,) = re.findall(r"grep '(.*)' games.jsonl", PAGE)
    assert [line for line in LINES if text.encode() in line] == LINES[:1]


FAIRNESS: Final = (ROOT / "docs" / "fairness.md").read_text("utf-8")


def test_the_receipt_on_the_page_of_fairness_is_one_of_the_examples_last_event() -> None:
    (note,) = re.findall(r"(?:^    .*\n|^\n)+(?=The key that verifies)", FAIRNESS, re.MULTILINE)
    (key,) = re.findall(r"verifies this one is `(.+?)`", FAIRNESS)
    receipt = read_receipt(dedent(note).strip() + "\n", NoteKey.parse(key))
    last = read_record(LINES).events[-1]
    assert (receipt.game, receipt.version, receipt.hash) == (last.game, last.seq, last.hash)
