/**
 * The tables, and how older files get them.
 *
 *   run      one for each run: what its header says, and how it stands (worked out from history)
 *   history  every row of every run: clustered by run, in order of position. Never changed
 *   result   what nodes returned, by the position of the row that it came with
 *   session  one for each process that had the journal open for writing; alive while its lock is held
 *   counter  one row: up to where positions and runs were used, and the state of the last vacuum
 *   mail     messages to the process that runs a run
 *
 * Names, not numbers, stand for nodes: rows are readable with any SQLite tool, and neither side keeps
 * a table of a million names in memory. States are numbers: see states.ts.
 *
 * Results have no index by node: keeping one costs four times as much as the rows themselves, and the
 * few callers that read results can read through the successes of a run once (docs/decisions/0092).
 *
 * A change of the tables is a new migration at the end of the list. Those that were released are
 * never edited: a file remembers how many it has seen (`user_version`).
 */

/** Read as text: "HDLJ". */
export const applicationId = 0x48444c4a

export interface Migration {
  /** Its purpose, for the message when it fails. */
  readonly title: string
  readonly sql: string
}

/**
 * Sets the counter from the rows in the tables, by one query for each run: the rows are clustered by run. For files of
 * earlier versions, and for those that were saved from a damaged one, where each table may know of later numbers.
 */
export const recount = `
  WITH RECURSIVE used (run) AS (
    SELECT max(run) FROM history
    UNION ALL
    SELECT (SELECT max(run) FROM history WHERE run < used.run) FROM used WHERE run IS NOT NULL
  )
  UPDATE counter SET
    position = max(
      position,
      coalesce((SELECT max((SELECT max(position) FROM history WHERE run = used.run)) FROM used), 0),
      coalesce((SELECT max(position) FROM result), 0)
    ),
    run = max(
      run,
      coalesce((SELECT max(run) FROM history), 0),
      coalesce((SELECT max(run) FROM run), 0)
    );`

/**
 * A run that has ended with something that did not succeed: a count of a state other than `succeeded` and `skipped`. As
 * text, so that an index can hold exactly these runs.
 */
export const hasFailures = `state = 4 AND counts IS NOT NULL
  AND (counts GLOB '*[{,]"[^s]*' OR counts GLOB '*[{,]"su[^c]*')`

export const migrations: readonly Migration[] = [
  {
    title: 'tables',
    sql: `
      CREATE TABLE session (
        session INTEGER PRIMARY KEY,
        pid INTEGER NOT NULL,
        started_at REAL NOT NULL,
        closed_at REAL
      ) STRICT;

      CREATE TABLE run (
        run INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        title TEXT NOT NULL,
        started_at REAL NOT NULL,
        ended_at REAL,
        state INTEGER NOT NULL,
        pid INTEGER NOT NULL,
        host TEXT NOT NULL,
        command TEXT NOT NULL,
        options BLOB NOT NULL,
        session INTEGER, -- the session that writes it; NULL when none does
        counts TEXT -- nodes by state, of a run that has ended; filled in when there is time
      ) STRICT;

      CREATE TABLE history (
        run INTEGER NOT NULL,
        position INTEGER NOT NULL,
        kind INTEGER NOT NULL,
        node TEXT,
        state INTEGER,
        attempt INTEGER,
        at REAL NOT NULL,
        detail TEXT,
        PRIMARY KEY (run, position)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE result (
        position INTEGER PRIMARY KEY,
        value ANY NOT NULL -- bytes, or as text the name of the file that holds them
      ) STRICT;

      CREATE INDEX result_file ON result (value) WHERE typeof(value) = 'text';
    `,
  },
  {
    title: 'keys of runs',
    sql: `
      ALTER TABLE run ADD COLUMN key TEXT;
      CREATE UNIQUE INDEX run_key ON run (key) WHERE key IS NOT NULL;
    `,
  },
  {
    title: 'several writers, mail, pruning',
    sql: `
      ALTER TABLE session ADD COLUMN lock TEXT; -- the name of the lock that proves it alive

      ALTER TABLE run ADD COLUMN visible INTEGER NOT NULL DEFAULT 1; -- 0: being opened, or being removed
      CREATE INDEX run_session ON run (session) WHERE session IS NOT NULL;

      CREATE TABLE counter (
        counter INTEGER PRIMARY KEY CHECK (counter = 1),
        position INTEGER NOT NULL, -- no run without a session has a later row
        run INTEGER NOT NULL,
        vacuums INTEGER NOT NULL,
        pages INTEGER NOT NULL -- what the last vacuum has left
      ) STRICT;
      INSERT INTO counter VALUES (1, 0, 0, 0, 0);

      CREATE TABLE mail (
        mail INTEGER PRIMARY KEY AUTOINCREMENT,
        run INTEGER NOT NULL,
        kind TEXT NOT NULL,
        sender TEXT NOT NULL,
        posted_at REAL NOT NULL
      ) STRICT;
      CREATE INDEX mail_run ON mail (run);
      ${recount}
    `,
  },
  {
    title: 'parts of nodes, signals',
    sql: `
      ALTER TABLE mail ADD COLUMN name TEXT; -- of a signal
      ALTER TABLE mail ADD COLUMN value BLOB;
      -- The rows of the parts of one node are read together when it is resumed.
      CREATE INDEX history_part ON history (run, node, position) WHERE kind = 5;
    `,
  },
  {
    title: 'lists of runs by state',
    sql: `
      CREATE INDEX run_state ON run (state, run) WHERE visible = 1;
      CREATE INDEX run_failed ON run (run) WHERE ${hasFailures} AND visible = 1;
      CREATE INDEX run_uncounted ON run (run) WHERE state = 4 AND counts IS NULL AND visible = 1;
    `,
  },
]

/** The first versions in which runs have keys, and in which several write. Readers take older files as they are. */
export const versionWithKeys = 2
export const versionWithWriters = 3
export const versionWithParts = 4

/** The version of a file that has seen all migrations. */
export const schemaVersion: number = migrations.length
