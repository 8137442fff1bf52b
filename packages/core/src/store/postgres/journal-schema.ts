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
export function reserveRun(period: string, otherwise = ''): string {
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
  -- J4, J8: reserves an id and a key. Returns the run, { exists } or { taken: the run that has the key }.
  CREATE FUNCTION @.open_run_1(
    p_id text, p_key text, p_title text, p_started_at double precision, p_state smallint,
    p_pid double precision, p_host text, p_command text, p_options bytea, p_holder text
  ) RETURNS json LANGUAGE plpgsql AS $$
  DECLARE
    made record;
    there text;
  BEGIN
    -- A reservation whose process died before the first row.
    DELETE FROM @.run WHERE (id = p_id OR key = p_key) AND NOT opened AND NOT @.is_held_1(holder);
    ${reserveRun('@.period_1()')}
  END $$;

  -- J5: takes a run that no process holds. Returns the run, { held } or { changed } when p_epoch is not current.
  CREATE FUNCTION @.resume_run_1(p_id text, p_holder text, p_epoch bigint) RETURNS json LANGUAGE plpgsql AS $$
  DECLARE
    found_run record;
    wait_ms double precision;
  BEGIN
    SELECT * INTO found_run FROM @.run WHERE id = p_id AND opened FOR UPDATE;
    IF NOT FOUND OR found_run.epoch <> p_epoch THEN RETURN json_build_object('changed', true); END IF;
    SELECT extract(epoch FROM until - clock_timestamp()) * 1000 INTO wait_ms
      FROM @.holder WHERE id = found_run.holder AND until > clock_timestamp() FOR SHARE;
    IF FOUND THEN
      RETURN json_build_object('held', wait_ms, 'pid', found_run.pid, 'host', found_run.host, 'command', found_run.command);
    END IF;
    UPDATE @.run SET holder = p_holder, epoch = epoch + 1 WHERE run = found_run.run;
    RETURN json_build_object('run', found_run.run, 'period', found_run.period, 'epoch', p_epoch + 1,
      'position', (SELECT coalesce(max(position), 0) FROM @.history
        WHERE run = found_run.run AND period = found_run.period));
  END $$;

  -- J5: gives runs back that were taken and not written.
  CREATE FUNCTION @.leave_run_1(p_run bigint, p_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    DELETE FROM @.run WHERE run = p_run AND epoch = p_epoch AND NOT opened;
    UPDATE @.run SET holder = NULL WHERE run = p_run AND epoch = p_epoch;
  END $$;
`

const commit = `
  -- J1, J3, J5: rows of several runs. Returns the runs, counted from 1, that another process has taken: nothing of them
  -- was written.
  CREATE FUNCTION @.record_1(
    p_durable boolean, p_run bigint[], p_epoch bigint[], p_period integer[],
    h_run integer[], h_position bigint[], h_kind smallint[], h_node text[], h_state smallint[], h_attempt bigint[],
    h_at double precision[], h_detail text[],
    v_run integer[], v_position bigint[], v_body bytea[], v_name text[],
    s_run integer[], s_position bigint[], s_state smallint[], s_ended_at double precision[], s_counts text[],
    s_pid double precision[], s_host text[], s_command text[],
    l_run integer[]
  ) RETURNS json LANGUAGE plpgsql AS $$
  DECLARE
    ok boolean[];
    lost json;
  BEGIN
    ${checkEpochs}

    INSERT INTO @.history (period, run, position, kind, node, state, attempt, at, detail)
      SELECT p_period[h.run], p_run[h.run], h.position, h.kind, h.node, h.state, h.attempt, h.at, h.detail
      FROM unnest(h_run, h_position, h_kind, h_node, h_state, h_attempt, h_at, h_detail)
        h (run, position, kind, node, state, attempt, at, detail)
      WHERE ok[h.run] ON CONFLICT DO NOTHING;
    IF cardinality(v_run) > 0 THEN
      INSERT INTO @.result (period, run, position, body, name)
        SELECT p_period[v.run], p_run[v.run], v.position, v.body, v.name
        FROM unnest(v_run, v_position, v_body, v_name) v (run, position, body, name)
        WHERE ok[v.run] ON CONFLICT DO NOTHING;
    END IF;
    ${writeStandings}
    SELECT json_agg(n) INTO lost FROM unnest(ok) WITH ORDINALITY p (is_ok, n) WHERE NOT p.is_ok;
    RETURN lost;
  END $$;
`

export const journalMigration: Migration = {
  title: 'journal',
  sql: tables + holders + runs + commit,
}
