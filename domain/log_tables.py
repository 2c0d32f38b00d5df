"""The log's table, as the eventsourcing library reads it, the one function by which it is written; its checkpoints."""

from __future__ import annotations

from typing import Final, LiteralString

from psycopg import Cursor
from psycopg.rows import DictRow

__all__ = ["APPEND_FUNCTION", "APPEND_SIGNATURE", "EVENTS_TABLE", "LOG_LOCK", "MOST_WAIT", "TRIGGERS"]
__all__ += ["create_log", "is_guarded"]

EVENTS_TABLE: Final = "game_events"

LOG_LOCK: Final = 8_420_125
"""The advisory lock by which writers take turns. A lock of the table would wait for a vacuum, and stop it."""
MOST_WAIT: Final = "5s"
"""How long a writer waits for his turn."""

TABLE: Final = """
CREATE TABLE IF NOT EXISTS public.game_events (
    originator_id uuid NOT NULL,
    originator_version bigint NOT NULL CHECK (originator_version > 0),
    topic text NOT NULL,
    state bytea NOT NULL,
    notification_id bigserial,
    PRIMARY KEY (originator_id, originator_version)
) WITH (
    autovacuum_enabled = true,
    autovacuum_vacuum_threshold = 100000000,
    autovacuum_vacuum_scale_factor = 0.5,
    autovacuum_analyze_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.01
)
"""

INDEX: Final = """
CREATE UNIQUE INDEX IF NOT EXISTS game_events_notification_id_idx ON public.game_events (notification_id ASC)
"""

APPEND_SIGNATURE: Final = "public.append_events(integer[], uuid[], bigint[], text[], bytea[])"

APPEND_FUNCTION: Final = f"""
CREATE OR REPLACE FUNCTION public.append_events(
    appends integer[], games uuid[], versions bigint[], topics text[], states bytea[],
    OUT refused integer[], OUT positions bigint[]
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Where one array is shorter than another, its missing values come as NULL.
    IF num_nulls(appends, games, versions, topics, states) > 0
       OR EXISTS (SELECT FROM unnest(appends, games, versions, topics, states)
                              AS o (append, game, version, topic, state)
                   WHERE num_nulls(o.append, o.game, o.version, o.topic, o.state) > 0) THEN
        RAISE EXCEPTION 'every event has an append, a game, a version, a topic and a state'
              USING ERRCODE = 'null_value_not_allowed';
    END IF;
    -- What is no event of this game at this place would stop everyone who reads the log. Bytes that are not JSON fail.
    IF EXISTS (SELECT FROM unnest(games, versions, topics, states) AS o (game, version, topic, state),
                           json_to_record(convert_from(o.state, 'UTF8')::json) AS e (game text, seq text, type text)
                WHERE (e.game, e.seq, e.type) IS DISTINCT FROM (o.game::text, o.version::text, o.topic)) THEN
        RAISE EXCEPTION 'a state does not name its game, seq and type' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM set_config('lock_timeout', '{MOST_WAIT}', true);
    -- Held until the commit: the order of positions is the order of commits, and a follower misses nothing.
    PERFORM pg_advisory_xact_lock({LOG_LOCK});
    -- Only now can it be seen what others have appended. An append is refused, whole, where it is not the next events
    -- of one game, in their order and side by side; the others go on.
    SELECT coalesce(array_agg(DISTINCT a.append), '{{}}') INTO refused
      FROM (SELECT o.append, o.game, min(o.version) AS first,
                   max(o.place) - min(o.place) + 1 = count(*)
                   AND max(o.version - o.place) = min(o.version - o.place) AS side_by_side,
                   count(*) OVER (PARTITION BY o.append) AS games
              FROM unnest(appends, games, versions) WITH ORDINALITY AS o (append, game, version, place)
             GROUP BY o.append, o.game) AS a
     WHERE a.games > 1
        OR NOT a.side_by_side
        -- Not by EXISTS: a plan from the days of a short log would read the whole of it, whatever its length now.
        OR a.first <> 1 + coalesce((SELECT max(e.originator_version) FROM public.game_events AS e
                                     WHERE e.originator_id = a.game), 0);
    WITH inserted AS (
        INSERT INTO public.game_events (originator_id, originator_version, topic, state)
        SELECT o.game, o.version, o.topic, o.state
          FROM unnest(appends, games, versions, topics, states)
               WITH ORDINALITY AS o (append, game, version, topic, state, place)
         WHERE o.append <> ALL (refused)
         ORDER BY o.place
        RETURNING notification_id
    )
    SELECT coalesce(array_agg(notification_id ORDER BY notification_id), '{{}}') INTO positions FROM inserted;
END
$$
"""  # noqa: S608 - made of constants

TRIGGER: Final = "game_events_append_only"

TRIGGER_FUNCTION: Final = """
CREATE OR REPLACE FUNCTION public.keep_game_events() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'the log is append-only: no % of game_events', TG_OP USING ERRCODE = 'insufficient_privilege';
END
$$
"""

GUARD: Final = (
    f"DROP TRIGGER IF EXISTS {TRIGGER} ON public.game_events",
    # For each statement, so that it is also refused where it meets no row.
    f"""
    CREATE TRIGGER {TRIGGER} BEFORE UPDATE OR DELETE OR TRUNCATE ON public.game_events
    FOR EACH STATEMENT EXECUTE FUNCTION public.keep_game_events()
    """,
    # Always: also where a session calls itself a replica.
    f"ALTER TABLE public.game_events ENABLE ALWAYS TRIGGER {TRIGGER}",
)

GUARDED: Final = f"""
SELECT count(*) = 1 AS guarded FROM pg_trigger
 WHERE tgrelid = to_regclass('public.game_events') AND tgname = '{TRIGGER}' AND tgenabled = 'A'
"""  # noqa: S608 - made of constants

CHECKPOINTS: Final = """
CREATE TABLE IF NOT EXISTS public.log_checkpoints (
    size bigint PRIMARY KEY CHECK (size > 0),
    note text NOT NULL,
    signed_at timestamptz NOT NULL DEFAULT clock_timestamp()
)
"""

# Every entry of an index has to fit into a third of a page. A checkpoint with one signature has at most 1,800 bytes.
DEPARTURES: Final = """
CREATE TABLE IF NOT EXISTS public.log_departures (
    note text PRIMARY KEY CHECK (octet_length(note) <= 2048),
    told_at timestamptz NOT NULL DEFAULT clock_timestamp()
)
"""

SIGNED: Final[tuple[tuple[LiteralString, LiteralString], ...]] = (
    ("log_checkpoints", "log_checkpoints_append_only"),
    ("log_departures", "log_departures_append_only"),
)
"""The tables of what was signed, each with the trigger that guards it."""
TRIGGERS: Final = (TRIGGER, *(trigger for _, trigger in SIGNED))
"""All that keep something append-only."""

SIGNED_TRIGGER_FUNCTION: Final = """
CREATE OR REPLACE FUNCTION public.keep_log_checkpoints() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'what was signed stays: no % of %', TG_OP, TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END
$$
"""


def guard(table: LiteralString, trigger: LiteralString) -> tuple[LiteralString, ...]:
    """Return the statements that let what was signed stay in a table."""
    return (
        f"DROP TRIGGER IF EXISTS {trigger} ON public.{table}",
        f"""
        CREATE TRIGGER {trigger} BEFORE UPDATE OR DELETE OR TRUNCATE ON public.{table}
        FOR EACH STATEMENT EXECUTE FUNCTION public.keep_log_checkpoints()
        """,
        f"ALTER TABLE public.{table} ENABLE ALWAYS TRIGGER {trigger}",
    )


def _guarded(table: LiteralString, trigger: LiteralString) -> LiteralString:
    """Return what tells whether such a trigger is there and on; of a table that is not there it need not be."""
    return f"""
    SELECT to_regclass('public.{table}') IS NULL
           OR EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass('public.{table}')
                         AND tgname = '{trigger}' AND tgenabled = 'A') AS guarded
    """  # noqa: S608 - made of constants


LOG_VIEW: Final = """
CREATE OR REPLACE VIEW public.game_log AS
SELECT notification_id AS position,
       originator_id AS game,
       originator_version AS seq,
       topic AS type,
       convert_from(state, 'UTF8')::json AS event,
       encode(sha256('tic/event/v1\n'::bytea || state), 'hex') AS hash
  FROM public.game_events
"""


def is_guarded(cursor: Cursor[DictRow]) -> bool:
    """Tell whether the triggers that refuse changes are there and on; of a table that is not there it need not be."""
    return _holds(cursor, GUARDED) and all(_holds(cursor, _guarded(*each)) for each in SIGNED)


def _holds(cursor: Cursor[DictRow], query: LiteralString) -> bool:
    return cursor.execute(query).fetchone() == {"guarded": True}


def create_log(cursor: Cursor[DictRow]) -> None:
    """Make the log's table, its function, its guard and the SQL view ``game_log`` where they are missing.

    And the tables of its signed checkpoints, and of those that it does not contain: they can't be built anew from the
    log, and are guarded as it is.

    Not for every start: making an index or a trigger holds up writers for a moment.
    """
    cursor.execute(TABLE)
    cursor.execute(INDEX)
    cursor.execute("DROP FUNCTION IF EXISTS public.append_events(uuid[], bigint[], text[], bytea[])")  # of 0.1
    cursor.execute(APPEND_FUNCTION)
    cursor.execute(f"REVOKE EXECUTE ON FUNCTION {APPEND_SIGNATURE} FROM PUBLIC")
    cursor.execute(TRIGGER_FUNCTION)
    cursor.execute("REVOKE EXECUTE ON FUNCTION public.keep_game_events() FROM PUBLIC")
    if not _holds(cursor, GUARDED):
        for statement in GUARD:
            cursor.execute(statement)
    cursor.execute(LOG_VIEW)
    cursor.execute(CHECKPOINTS)
    cursor.execute(DEPARTURES)
    cursor.execute(SIGNED_TRIGGER_FUNCTION)
    cursor.execute("REVOKE EXECUTE ON FUNCTION public.keep_log_checkpoints() FROM PUBLIC")
    for each in SIGNED:
        if not _holds(cursor, _guarded(*each)):
            for statement in guard(*each):
                cursor.execute(statement)
