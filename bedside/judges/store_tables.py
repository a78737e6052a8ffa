"""The tables of a store of judgements, as SQL."""

from __future__ import annotations

TABLES = """
CREATE TABLE judgements (
    key TEXT PRIMARY KEY,          -- SHA-256 of model, parameters, prompt hash and pass
    model TEXT NOT NULL,
    parameters TEXT NOT NULL,      -- JSON: what was wanted
    prompt TEXT NOT NULL,          -- SHA-256 of messages and schema
    pass INTEGER NOT NULL,
    transcript TEXT NOT NULL,      -- the first one it was asked for
    unit TEXT NOT NULL,
    items TEXT,                    -- JSON: the numbers of the items asked about
    rubric TEXT NOT NULL,
    version TEXT NOT NULL,         -- of the rubric
    state TEXT NOT NULL,
    answer TEXT,                   -- JSON, the reason included
    error TEXT,
    expected REAL,
    expected_note TEXT,            -- why there is no expected score
    replies BLOB NOT NULL,         -- JSON, compressed: the text of every reply, the last one counts
    faults TEXT NOT NULL,          -- JSON: what went wrong on the way
    calls INTEGER NOT NULL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cost REAL,                     -- US dollars
    started TEXT NOT NULL,
    finished TEXT NOT NULL,
    endpoint TEXT,                 -- the address of the server that gave the last reply
    cached_tokens INTEGER,         -- of the input's
    reasoning_tokens INTEGER,      -- of the output's
    unsent TEXT,                   -- JSON: parameters that were wanted and that the model doesn't take
    cut_at INTEGER                 -- where it is unusable because it was cut off: the limit of tokens
) WITHOUT ROWID;
CREATE TABLE prompts (prompt TEXT PRIMARY KEY, pieces TEXT NOT NULL, schema TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pieces (digest TEXT PRIMARY KEY, text BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL) WITHOUT ROWID;
"""
#: Columns that earlier formats didn't have.
LATER_COLUMNS = {
    "endpoint": "TEXT",
    "cached_tokens": "INTEGER",
    "reasoning_tokens": "INTEGER",
    "unsent": "TEXT",
    "cut_at": "INTEGER",
}
