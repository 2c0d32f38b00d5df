"""What an auditor brings beside the records: proofs, receipts, checkpoints that were kept.

In a file they stand one after the other, each as it was given; the file is compressed if its name ends in ``.gz``.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import typer
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from api.archives import lines_in
from api.ids import game_of
from domain.notes import (
    LONGEST_PROOF,
    PROOF,
    RECEIPT,
    LogProof,
    NoteKey,
    Receipt,
    read_checkpoint,
    read_proof,
    read_receipt,
)
from domain.records import BrokenRecord
from domain.witness import Growth, Witness

__all__ = ["Evidence", "note_key", "read_evidence"]


def note_key(key: str) -> NoteKey:
    """Read a verifier key, or the file that holds one.

    Raises:
        typer.BadParameter: it is neither.
    """
    try:
        return NoteKey.parse(Path(key).read_text(encoding="utf-8") if Path(key).is_file() else key)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"--key is neither a verifier key nor a file that holds one: {error}") from None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What records are held against."""

    key: NoteKey | None
    """Of whoever signs the log's checkpoints; None where the log is not looked at."""
    proofs: Mapping[UUID, Sequence[LogProof]]
    """That the log has a game's last event, by game."""
    receipts: Mapping[UUID, Sequence[Receipt]]
    """What players were told, by game."""
    witness: Witness
    """Which has seen the checkpoints that were kept, and how they grew."""
    checkpoints_given: bool = False
    """Whether there were any."""


def read_evidence(
    key: NoteKey | None,
    *,
    proofs: Sequence[Path] = (),
    receipts: Sequence[Path] = (),
    checkpoints: Sequence[Path] = (),
) -> Evidence:
    """Read what was brought.

    Args:
        key: which must have signed what is signed; None where that is not looked at.
        proofs: files of proofs, each of which names its game in the `extra` line.
        receipts: files of receipts: signed ones as they were given, and a JSON object a line for those that are not
            signed, with `game` (an id or a UUID), `version` and `hash`.
        checkpoints: files of checkpoints, and of consistency proofs: a JSON object a line, as /log/consistency answers.

    Raises:
        OSError: a file can't be read.
        ValueError: it holds something else, or what the key has not signed, or what is not proved.
        Forked: the key has signed what can't all be true of one log.
    """
    proved, told = defaultdict[UUID, list[LogProof]](list), defaultdict[UUID, list[Receipt]](list)
    for game, proof in _read_proofs(proofs):
        proved[game].append(proof)
    for receipt in _read_receipts(receipts, key):
        told[receipt.game].append(receipt)
    witness = Witness()
    if key is not None:
        _watch(witness, checkpoints, key)
    return Evidence(key, dict(proved), dict(told), witness, bool(checkpoints))


# Proofs


def _read_proofs(files: Sequence[Path]) -> Iterator[tuple[UUID, LogProof]]:
    otherwise = f"this is not a proof: its first line is {PROOF!r}"
    checkpoints: dict[str, str] = {}
    for file in files:
        for line, text in _texts(file, PROOF, otherwise):
            try:
                proof = read_proof(text)
                game = _game_named(proof)
            except ValueError as error:
                raise ValueError(f"{file}, line {line}: {error}") from None
            kept = checkpoints.setdefault(proof.checkpoint, proof.checkpoint)  # most games have the same one
            yield game, LogProof(proof.index, proof.path, kept, proof.extra)


def _game_named(proof: LogProof) -> UUID:
    try:
        game = UUID(proof.extra.decode("ascii"))
    except ValueError:
        game = None
    if game is None or str(game).encode() != proof.extra:
        raise ValueError("this proof does not name its game: `extra` is the game's UUID, in base64")
    return game


# Receipts


class _Told(BaseModel):
    """A receipt as a client kept it that was not signed."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    game: str
    version: int
    hash: Annotated[str, StringConstraints(pattern="^[0-9a-fA-F]{64}$")]


_NO_RECEIPT: Final = (
    f"this is not a receipt, which begins with {RECEIPT!r}"
    ' or looks like {"game": "...", "version": 12, "hash": "..."}, where a hash has 64 hex digits'
)


def _read_receipts(files: Sequence[Path], key: NoteKey | None) -> Iterator[Receipt]:
    for file in files:
        line = 0
        for line, text in _texts(file, RECEIPT, _NO_RECEIPT):
            yield _receipt(text, key, f"{file}, line {line}")
        if not line:
            raise ValueError(f"{file} holds no receipt")


def _receipt(text: str, key: NoteKey | None, place: str) -> Receipt:
    if text.startswith(RECEIPT):
        try:
            receipt = read_receipt(text, key)
        except ValueError as error:
            raise ValueError(f"{place}: {error}. Take it out to audit without it") from None
        return Receipt(receipt.game, receipt.version, receipt.hash, receipt.vouched, place)
    try:
        told = _Told.model_validate_json(text)
        return Receipt(game_of(told.game), told.version, told.hash.lower(), source=place)
    except (ValidationError, ValueError):
        raise ValueError(f"{place}: {_NO_RECEIPT}") from None


# Checkpoints


def _hash_of(text: object) -> bytes:
    if not isinstance(text, str):
        raise ValueError("a hash is written in base64")  # noqa: TRY004 - pydantic's way to refuse
    return base64.b64decode(text, validate=True)


_Hash = Annotated[bytes, BeforeValidator(_hash_of), Field(min_length=32, max_length=32)]


class _Grown(BaseModel):
    """A consistency proof, as it is answered."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    old: int
    old_root: _Hash = Field(alias="oldRoot")
    new: int
    new_root: _Hash = Field(alias="newRoot")
    path: tuple[_Hash, ...] = Field(max_length=128)


def _watch(witness: Witness, files: Sequence[Path], key: NoteKey) -> None:
    otherwise = f"this is neither a checkpoint, which begins with {key.name!r}, nor the JSON of a consistency proof"
    for file in files:
        for line, text in _texts(file, key.name, otherwise):
            place = f"{file}, line {line}"
            try:
                if text.startswith("{"):
                    grown = _Grown.model_validate_json(text)
                    witness.grew(Growth(grown.old, grown.old_root, grown.new, grown.new_root, grown.path))
                else:
                    witness.saw(read_checkpoint(text, key), place)
            except ValidationError:
                raise ValueError(f"{place}: {otherwise}, with old, oldRoot, new, newRoot and path") from None
            except ValueError as error:
                raise ValueError(f"{place}: {error}") from None


# What stands in a file


def _texts(file: Path, first: str, otherwise: str) -> Iterator[tuple[int, str]]:
    """Yield the texts of a file that begin with a certain line, or with a brace, which are a line each.

    Args:
        file: to be read.
        first: the line with which the longer ones begin.
        otherwise: what is said of a line that belongs to none.

    Yields:
        The number of the line with which a text begins, and the text.

    Raises:
        OSError: the file can't be read.
        ValueError: it holds something else, or what is not text, or too much of it.
    """
    begun, text = 0, ""
    with lines_in(file) as (lines, _):
        try:
            for number, raw in enumerate(lines, 1):
                line = raw.decode()
                if line.removesuffix("\n") == first or line.startswith("{"):
                    if text:
                        yield begun, text.rstrip("\n") + "\n"
                    begun, text = number, line
                elif text and not text.startswith("{") and len(text) + len(line) <= LONGEST_PROOF:
                    text += line
                elif line.strip():
                    raise ValueError(f"{file}, line {number}: {otherwise}")
        except UnicodeDecodeError:
            raise ValueError(f"{file}: {otherwise}; and it is not even text") from None
        except BrokenRecord as error:
            raise ValueError(f"{file}, {error}") from None
    if text:
        yield begun, text.rstrip("\n") + "\n"
