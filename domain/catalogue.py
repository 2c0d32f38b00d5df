"""The catalogue of all events as JSON Schema, generated from the facts."""

from __future__ import annotations

from typing import Any

from domain.games import FACT_TYPES

__all__ = ["catalogue"]

_HEX: dict[str, Any] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}

_ENVELOPE: dict[str, dict[str, Any]] = {
    "actor": {"type": "string", "description": '"player:" and the player\'s random UUID, or "server"'},
    "at": {"type": "string", "format": "date-time", "description": "UTC, by the database's clock"},
    "content": {
        "anyOf": [_HEX, {"type": "null"}],
        "description": "digest of what was asked for, if key",
    },
    "game": {"type": "string", "format": "uuid"},
    "key": {"anyOf": [_HEX, {"type": "null"}], "description": "digest of the player and the idempotency key, if any"},
    "of": {"type": "integer", "minimum": 1, "description": "how many events the command has"},
    "part": {"type": "integer", "minimum": 1, "description": "which of them this is"},
    "prev": {**_HEX, "description": "the hash of the event before; 64 zeros for the first"},
    "seq": {"type": "integer", "minimum": 1, "description": "the sequence number in the game"},
}


def catalogue() -> dict[str, Any]:
    """Return one JSON Schema that admits every stored event and nothing else."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Events of the TIC game server",
        "description": 'A stored event is UTF-8 JSON; its hash is SHA-256 of "tic/event/v1\\n" and its bytes.',
        "oneOf": [{"$ref": f"#/$defs/{topic}"} for topic in sorted(FACT_TYPES)],
        "$defs": {topic: _event(topic) for topic in sorted(FACT_TYPES)},
    }


def _event(topic: str) -> dict[str, Any]:
    fact_type = FACT_TYPES[topic]
    fact = fact_type.model_json_schema(
        mode="serialization", ref_template=f"#/$defs/{topic}/properties/fact/$defs/{{model}}"
    )
    properties = {
        **_ENVELOPE,
        "type": {"const": topic},
        "v": {"const": fact_type.version, "description": "the fact's version"},
        "fact": fact,
    }
    return {
        "type": "object",
        "title": topic,
        "description": fact.get("description", ""),
        "properties": {name: properties[name] for name in sorted(properties)},
        "required": sorted(properties),
        "additionalProperties": False,
    }
