/**
 * The tables and functions of the journal. `@.` stands for the schema.
 *
 *   holder    one row for each process that holds runs: until when its lease lasts
 *   run       one row for each run: what its header says, who holds it, with which epoch, and how it stands
 *   history   every row of every run, by run and position. Never changed
 *   result    what nodes returned, by the position of the row that it came with
 *   chunk     the bytes of large results, complete before a row names them
 *
 * The last three are partitioned by the week in which a run started: a run lies in one partition, and a partition is
 * dropped when no run is left in it (C12).
 *
 * A run is reserved before its first rows and becomes visible with them (`opened`). A commit may be sent twice: rows have a
 * position, a state has the position of its row, and both are written only once.
 */
import type { Migration } from './migration.ts'

/** Makes the partitions of a week, given as the name of a variable. */
export function makePartitions(week: string): string {
  return `FOREACH part IN ARRAY ARRAY['history', 'result', 'chunk'] LOOP
      IF to_regclass(format('@.%I', part || '_' || ${week})) IS NULL THEN
        EXECUTE format('CREATE TABLE @.%I (LIKE @.%I INCLUDING ALL)', part || '_' || ${week}, part);
        EXECUTE format('ALTER TABLE @.%I ATTACH PARTITION @.%I FOR VALUES IN (%s)', part, part || '_' || ${week}, ${week});
      END IF;
    END LOOP;`
}

/** Reserves a run whose rows lie in this period. `otherwise`: what finds a reservation when none can be made. */
export function reserveRun(period: string, otherwise: string): string {
  return `INSERT INTO @.run (id, key, title, started_at, state, pid, host, command, options, holder, period)
      VALUES (p_id, p_key, p_title, p_started_at, p_state, p_pid, p_host, p_command, p_options, p_holder, ${period})
      ON CONFLICT DO NOTHING RETURNING run, period INTO made;
    ${otherwise}
    IF FOUND THEN
      RETURN json_build_object('run', made.run, 'period', made.period, 'epoch', 1, 'position', 0);
    END IF;
    PERFORM 1 FROM @.run WHERE id = p_id;
    IF FOUND THEN RETURN json_build_object('exists', true); END IF;
    SELECT id INTO there FROM @.run WHERE key = p_key;
    IF FOUND THEN RETURN json_build_object('taken', there); END IF;
    RAISE EXCEPTION 'the run that was in the way is gone' USING ERRCODE = '40001';`
}

/** Sets the durability of the transaction, and `ok`: for each run whether its epoch is current. It stays so until the commit. */
export const checkEpochs = `IF NOT p_durable THEN
      PERFORM set_config('synchronous_commit', 'off', true);
    ELSIF current_setting('synchronous_commit') = 'off' THEN
      PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM 1 FROM @.run WHERE run = ANY (p_run) ORDER BY run FOR SHARE;
    SELECT array_agg(coalesce(r.epoch = p.epoch, false) ORDER BY p.n) INTO ok
      FROM unnest(p_run, p_epoch) WITH ORDINALITY p (run, epoch, n) LEFT JOIN @.run r ON r.run = p.run;`

/** How runs stand now, and which of them no process holds any more. */
export const writeStandings = `IF cardinality(s_run) > 0 THEN
      UPDATE @.run r SET state = s.state, state_position = s.position, ended_at = s.ended_at, counts = s.counts,
          opened = true, pid = coalesce(s.pid, r.pid), host = coalesce(s.host, r.host),
          command = coalesce(s.command, r.command)
        FROM unnest(s_run, s_position, s_state, s_ended_at, s_counts, s_pid, s_host, s_command)
          s (run, position, state, ended_at, counts, pid, host, command)
        WHERE r.run = p_run[s.run] AND ok[s.run] AND s.position > r.state_position;
    END IF;
    IF cardinality(l_run) > 0 THEN
      UPDATE @.run r SET holder = NULL FROM unnest(l_run) l (run) WHERE r.run = p_run[l.run] AND ok[l.run];
    END IF;`

const tables = `
  CREATE TABLE @.holder (
    id text COLLATE "C" PRIMARY KEY,
    until timestamptz NOT NULL
  ) WITH (fillfactor = 50);

  CREATE TABLE @.run (
    run bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    key text COLLATE "C" UNIQUE,
    title text NOT NULL,
    started_at double precision NOT NULL,
    ended_at double precision,
    state smallint NOT NULL,
    state_position bigint NOT NULL DEFAULT 0,
    pid double precision NOT NULL,
    host text NOT NULL,
    command text NOT NULL,
    options bytea NOT NULL,
    counts text, -- nodes by state, of a run that has ended
    opened boolean NOT NULL DEFAULT false,
    holder text COLLATE "C", -- NULL when no process holds it
    epoch bigint NOT NULL DEFAULT 1,
    period integer NOT NULL
  ) WITH (fillfactor = 70);

  CREATE TABLE @.history (
    period integer NOT NULL,
    run bigint NOT NULL,
    position bigint NOT NULL,
    kind smallint NOT NULL,
    node text COLLATE "C",
    state smallint,
    attempt bigint,
    at double precision NOT NULL,
    detail text,
    PRIMARY KEY (run, position, period)
  ) PARTITION BY LIST (period);

  CREATE TABLE @.result (
    period integer NOT NULL,
    run bigint NOT NULL,
    position bigint NOT NULL,
    body bytea,
    name text COLLATE "C", -- of its chunks, when there is no body
    PRIMARY KEY (run, position, period)
  ) PARTITION BY LIST (period);

  CREATE TABLE @.chunk (
    period integer NOT NULL,
    run bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    number integer NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (run, name, number, period)
  ) PARTITION BY LIST (period);
`

const holders = `
  CREATE FUNCTION @.hold_1(p_holder text, p_ttl double precision) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO @.holder VALUES (p_holder, clock_timestamp() + p_ttl * interval '1 millisecond')
      ON CONFLICT (id) DO UPDATE SET until = clock_timestamp() + p_ttl * interval '1 millisecond';
    DELETE FROM @.holder h WHERE until < now() - interval '1 day'
      AND NOT EXISTS (SELECT FROM @.run WHERE holder = h.id);
  END $$;
  CREATE INDEX ON @.run (holder) WHERE holder IS NOT NULL;

  CREATE FUNCTION @.is_held_1(p_holder text) RETURNS boolean LANGUAGE sql AS $$
    SELECT EXISTS (SELECT FROM @.holder WHERE id = p_holder AND until > clock_timestamp())
  $$;

  -- The week of now, with its partitions. Attaching one does not wait for those who read and write.
  CREATE FUNCTION @.period_1() RETURNS integer LANGUAGE plpgsql AS $$
  DECLARE
    this integer := extract(epoch FROM clock_timestamp())::bigint / (7 * 86400);
    part text;
  BEGIN
    -- The last one that is made.
    IF to_regclass(format('@.%I', 'chunk_' || this)) IS NOT NULL THEN RETURN this; END IF;
    LOCK TABLE @.meta IN EXCLUSIVE MODE;
    ${makePartitions('this')}
    RETURN this;
  END $$;
`

const runs = `
  -- J5: gives runs back that were taken and not written.
  CREATE FUNCTION @.leave_run_1(p_run bigint, p_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    DELETE FROM @.run WHERE run = p_run AND epoch = p_epoch AND NOT opened;
    UPDATE @.run SET holder = NULL WHERE run = p_run AND epoch = p_epoch;
  END $$;
`

export const journalMigration: Migration = {
  title: 'journal',
  sql: tables + holders + runs,
}
