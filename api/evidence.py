"""What an auditor brings beside the records: proofs that the log has them, and receipts of what players were told.

In a file they stand one after the other, each as it was given; the file is compressed if its name ends in ``.gz``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from api.archives import lines_in
from api.ids import game_of
from domain.notes import LONGEST_PROOF, PROOF, RECEIPT, LogProof, NoteKey, Receipt, read_proof, read_receipt
from domain.records import BrokenRecord

__all__ = ["read_proof_files", "read_receipts"]


def read_proof_files(files: Sequence[Path]) -> dict[UUID, LogProof]:
    """Read files of proofs, each of which names its game in the `extra` line; of two for one game the later counts.

    Raises:
        OSError: a file can't be read.
        ValueError: it holds something else than proofs.
    """
    found: dict[UUID, LogProof] = {}
    checkpoints: dict[str, str] = {}
    for file in files:
        otherwise = f"this is not a proof: its first line is {PROOF!r}"
        for line, text in _texts(file, PROOF, otherwise):
            try:
                proof = read_proof(text)
                game = _game_named(proof)
            except ValueError as error:
                raise ValueError(f"{file}, line {line}: {error}") from None
            kept = checkpoints.setdefault(proof.checkpoint, proof.checkpoint)  # most games have the same one
            found[game] = LogProof(proof.index, proof.path, kept, proof.extra)
    return found


def _game_named(proof: LogProof) -> UUID:
    try:
        return UUID(proof.extra.decode("ascii"))
    except ValueError:
        raise ValueError("this proof does not name its game: `extra` is the game's UUID, in base64") from None


class _Told(BaseModel):
    """A receipt as a client kept it that was not signed."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    game: str
    version: int
    hash: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


_NO_RECEIPT: Final = (
    f"this is not a receipt, which begins with {RECEIPT!r}"
    ' or looks like {"game": "...", "version": 12, "hash": "..."}'
)


def read_receipts(files: Sequence[Path], key: NoteKey | None) -> list[Receipt]:
    """Read files of receipts: signed ones as they were given, and a JSON object a line for those that are not signed.

    Such an object has `game` (an id or a UUID), `version` and `hash`.

    Args:
        files: of receipts.
        key: of the log, which must have signed those that are signed; None where that is not looked at.

    Raises:
        OSError: a file can't be read.
        ValueError: something in it is no receipt, or not signed by the key.
    """
    return [_receipt(file, line, text, key) for file in files for line, text in _texts(file, RECEIPT, _NO_RECEIPT)]


def _receipt(file: Path, line: int, text: str, key: NoteKey | None) -> Receipt:
    if text.startswith(RECEIPT):
        try:
            return read_receipt(text.rstrip("\n") + "\n", key)
        except ValueError as error:
            raise ValueError(f"{file}, line {line}: {error}. Take it out to audit without it") from None
    try:
        told = _Told.model_validate_json(text)
        return Receipt(game_of(told.game), told.version, told.hash)
    except (ValidationError, ValueError):
        raise ValueError(f"{file}, line {line}: {_NO_RECEIPT}") from None


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
                        yield begun, text
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
        yield begun, text
