"""Rebuild several read models at the same time, each in a process of its own.

What takes most of the time is reading events, and threads would take turns at that: one that has waited for the
database would wait for the others as well. Processes wait for nobody.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Final, NamedTuple

from domain.events import UnknownEvent
from domain.storage import Datastore, PersistenceError
from projections.models import PROJECTIONS
from projections.runner import Follower, RebuildUnderWay

__all__ = ["NotRebuilt", "rebuilt_side_by_side"]

_PROCESSES: Final = multiprocessing.get_context("spawn")
LONGEST_FAREWELL: Final = 10.0
"""Seconds in which a process that has told its last word ends by itself."""


class NotRebuilt(Exception):
    """Some read models were not rebuilt, and what was shown of them still is. The others were."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {reason}" for name, reason in reasons.items()))
        self.reasons: Final = dict(reasons)
        """Why not, by the model's name."""


class _Far(NamedTuple):
    """How far a rebuild is."""

    done: int
    total: int


class _Rebuilt(NamedTuple):
    """It is done."""

    events: int


class _Failed(NamedTuple):
    """It is not, and the old tables stand."""

    reason: str


def rebuilt_side_by_side(
    url: str,
    names: Sequence[str],
    progress: Callable[[str, int, int], None],
    *,
    begin: Callable[[], object] = bool,
    over_newer: bool = False,
) -> dict[str, int]:
    """Build read models from the whole log, and put each in the place of its old one when it is whole.

    One alone is built in this process. The others end with this one: whoever tells nobody any more how far it is stops,
    and the old tables stand.

    Args:
        url: of the database.
        names: of the read models, which have tables already.
        progress: is told the name, how many events are taken in, and how many there are.
        begin: is called in each other process first, which takes it by its name; the default does nothing.
        over_newer: whether the old ones may be a newer program's.

    Returns:
        How many events were taken in, by name.

    Raises:
        NotRebuilt: some were not, as it tells. Those that could be were.
    """
    if len(names) == 1:
        outcomes = {name: _outcome(url, name, partial(progress, name), over_newer=over_newer) for name in names}
    else:
        outcomes = _outcomes(url, names, progress, begin, over_newer=over_newer)
    failed = {name: outcome.reason for name, outcome in outcomes.items() if isinstance(outcome, _Failed)}
    if failed:
        raise NotRebuilt(failed)
    return {name: outcome.events for name, outcome in outcomes.items() if isinstance(outcome, _Rebuilt)}


def _outcomes(
    url: str,
    names: Sequence[str],
    progress: Callable[[str, int, int], None],
    begin: Callable[[], object],
    *,
    over_newer: bool,
) -> dict[str, _Rebuilt | _Failed]:
    told: dict[Connection, str] = {}
    processes: list[SpawnProcess] = []
    outcomes: dict[str, _Rebuilt | _Failed] = {}
    try:
        for name in names:
            hears, tells = _PROCESSES.Pipe(duplex=False)
            process = _PROCESSES.Process(
                target=_rebuild, args=(url, name, tells, begin, over_newer), name=f"tic {name}", daemon=True
            )
            processes.append(process)
            process.start()
            tells.close()  # it is the process's alone, so that its end is heard
            told[hears] = name
        while told:
            heard = wait(list(told))
            for hears, name in [each for each in told.items() if each[0] in heard]:
                word = _word(hears)
                if isinstance(word, _Far):
                    progress(name, word.done, word.total)
                else:
                    outcomes[name] = word
                    del told[hears]
                    hears.close()
        for process in processes:
            process.join(LONGEST_FAREWELL)
    finally:
        for process in processes:
            if process.is_alive():
                process.terminate()
                process.join()
    return outcomes


def _word(hears: Connection) -> _Far | _Rebuilt | _Failed:
    try:
        word: _Far | _Rebuilt | _Failed = hears.recv()
    except (EOFError, OSError):  # also in the middle of a word
        return _Failed("its process was ended before it told that it was done; rebuild it again")
    return word


def _rebuild(url: str, name: str, tells: Connection, begin: Callable[[], object], over_newer: bool = False) -> None:
    """Rebuild one model in this process, and tell how far it is."""
    begin()
    # Whoever listened is gone, or Ctrl-C, which reaches every process of a terminal: the one that asked says so.
    with suppress(BrokenPipeError, KeyboardInterrupt):
        tells.send(_outcome(url, name, lambda done, total: tells.send(_Far(done, total)), over_newer=over_newer))


def _outcome(url: str, name: str, far: Callable[[int, int], None], *, over_newer: bool) -> _Rebuilt | _Failed:
    try:
        with closing(Datastore(url, connections=1)) as datastore:
            return _Rebuilt(Follower(datastore, PROJECTIONS[name]).rebuild(far, over_newer=over_newer))
    except (RebuildUnderWay, LookupError, ValueError, UnknownEvent, PersistenceError) as error:
        return _Failed(str(error))
