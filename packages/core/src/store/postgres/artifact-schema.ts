/**
 * The tables and functions of artifacts. `@.` stands for the schema.
 *
 *   artifact_budget   one row for each run or campaign: what its artifacts take (F3). Each change of them locks it first
 *   artifact          one row for each artifact that is listed
 *   artifact_draft    artifacts being written, and uploads that were cut
 *   artifact_piece    the bytes of all of them, by body
 *   artifact_garbage  bodies that no artifact and no draft names any more, and when their pieces may go
 *
 *     begin ──▶ draft ──pieces──▶ listed ──replaced──▶ garbage, due in an hour ──sweep──▶ gone
 *                 │ ▲                └──the run is removed──▶ garbage, due at once
 *                 │ └── begin of the same upload
 *                 ├── cut, and resumable ──▶ without a holder
 *                 └── abandoned, or its process is gone ──▶ garbage, due at once
 *
 * Each transition is one function, and may be called again when its answer was lost. Pieces are deleted in slices, by
 * sweep alone: no other statement takes longer the larger an artifact is.
 */
import { byIndex, type Migration } from './migration.ts'

const tables = `
  CREATE TABLE @.artifact_budget (
    run text COLLATE "C" PRIMARY KEY,
    bytes bigint NOT NULL DEFAULT 0,
    count bigint NOT NULL DEFAULT 0
  ) WITH (fillfactor = 50);

  CREATE TABLE @.artifact (
    run text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    body text COLLATE "C" NOT NULL,
    length bigint NOT NULL,
    sha256 text NOT NULL,
    created_at double precision NOT NULL,
    writer text NOT NULL,
    PRIMARY KEY (run, name)
  );

  CREATE TABLE @.artifact_draft (
    body text COLLATE "C" PRIMARY KEY,
    run text COLLATE "C" NOT NULL,
    upload text COLLATE "C", -- of one that can be resumed
    put text COLLATE "C" NOT NULL,
    holder text COLLATE "C", -- NULL when no process writes it
    length bigint NOT NULL,
    is_new boolean NOT NULL, -- counted in the budget as one more artifact
    UNIQUE (run, upload)
  );

  CREATE TABLE @.artifact_piece (
    body text COLLATE "C" NOT NULL,
    start bigint NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (body, start)
  );
  -- What is worth compressing is compressed by whoever writes it.
  ALTER TABLE @.artifact_piece ALTER COLUMN bytes SET STORAGE EXTERNAL;

  CREATE TABLE @.artifact_garbage (
    body text COLLATE "C" PRIMARY KEY,
    due timestamptz NOT NULL
  );
  CREATE INDEX ON @.artifact_garbage (due);
`

const writing = `
  -- Returns { body, length, garbage }, { taken }, { busy }, { short }, { full }. Drafts of processes that are gone are
  -- dropped, or can be resumed (F1, F6).
  CREATE FUNCTION @.artifact_begin_1(
    p_run text, p_name text, p_writer text, p_body text, p_put text, p_upload text, p_start bigint, p_more bigint,
    p_holder text, p_bytes double precision, p_count double precision
  ) RETURNS json LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    budget record;
    found_writer text;
    found_draft record;
    has_draft boolean;
    new_name boolean;
    given_back bigint;
  BEGIN
    INSERT INTO @.artifact_budget (run) VALUES (p_run) ON CONFLICT DO NOTHING;
    PERFORM 1 FROM @.artifact_budget WHERE run = p_run FOR UPDATE;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'the artifacts of the run were removed' USING ERRCODE = '40001';
    END IF;

    WITH dead AS (
      DELETE FROM @.artifact_draft d WHERE d.run = p_run AND d.upload IS NULL
        AND d.holder <> p_holder AND NOT @.is_held_1(d.holder)
      RETURNING d.body, d.length, d.is_new
    ), dropped AS (
      INSERT INTO @.artifact_garbage SELECT body, clock_timestamp() FROM dead ON CONFLICT DO NOTHING
    )
    UPDATE @.artifact_budget SET bytes = bytes - s.length, count = count - s.fresh
      FROM (SELECT coalesce(sum(length), 0) AS length, count(*) FILTER (WHERE is_new) AS fresh FROM dead) s
      WHERE run = p_run AND (s.length > 0 OR s.fresh > 0);
    WITH cut AS (
      SELECT d.body, d.is_new FROM @.artifact_draft d
        WHERE d.run = p_run AND d.holder <> p_holder AND NOT @.is_held_1(d.holder)
    ), freed AS (
      UPDATE @.artifact_draft d SET holder = NULL, is_new = false FROM cut WHERE d.body = cut.body
    )
    UPDATE @.artifact_budget SET count = count - s.fresh
      FROM (SELECT count(*) FILTER (WHERE is_new) AS fresh FROM cut) s WHERE run = p_run AND s.fresh > 0;

    SELECT writer INTO found_writer FROM @.artifact WHERE run = p_run AND name = p_name;
    new_name := NOT FOUND;
    IF NOT new_name AND found_writer <> p_writer THEN RETURN json_build_object('taken', found_writer); END IF;

    SELECT * INTO found_draft FROM @.artifact_draft
      WHERE (p_upload IS NULL AND body = p_body) OR (run = p_run AND upload = p_upload);
    has_draft := FOUND;
    -- The answer was lost.
    IF has_draft AND found_draft.put = p_put THEN
      RETURN json_build_object('body', found_draft.body, 'length', found_draft.length, 'garbage', false);
    END IF;
    IF has_draft AND found_draft.holder IS NOT NULL THEN RETURN json_build_object('busy', true); END IF;
    IF p_start > coalesce(found_draft.length, 0) THEN
      RETURN json_build_object('short', coalesce(found_draft.length, 0));
    END IF;
    given_back := coalesce(found_draft.length, 0) - p_start;

    SELECT bytes, count INTO budget FROM @.artifact_budget WHERE run = p_run;
    IF new_name AND budget.count + 1 > p_count THEN RETURN json_build_object('full', 'count'); END IF;
    IF budget.bytes - given_back + p_more > p_bytes THEN RETURN json_build_object('full', 'bytes'); END IF;

    IF has_draft THEN
      DELETE FROM @.artifact_piece WHERE body = found_draft.body AND start >= p_start;
      UPDATE @.artifact_piece SET bytes = substring(bytes FROM 1 FOR (p_start - start)::integer)
        WHERE body = found_draft.body AND start + octet_length(bytes) > p_start;
      UPDATE @.artifact_draft SET put = p_put, holder = p_holder, length = p_start, is_new = new_name
        WHERE body = found_draft.body;
    ELSE
      INSERT INTO @.artifact_draft VALUES (p_body, p_run, p_upload, p_put, p_holder, 0, new_name);
    END IF;
    UPDATE @.artifact_budget SET bytes = bytes - given_back, count = count + new_name::integer WHERE run = p_run;
    RETURN json_build_object('body', coalesce(found_draft.body, p_body), 'length', p_start,
      'garbage', EXISTS (SELECT FROM @.artifact_garbage WHERE due <= clock_timestamp()));
  END $$;

  -- 'written', 'full', or 'gone'. It is durable with what lists the artifact, or keeps the upload.
  CREATE FUNCTION @.artifact_piece_1(
    p_run text, p_body text, p_put text, p_start bigint, p_bytes bytea, p_quota double precision
  ) RETURNS text LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    used bigint;
    written bigint;
  BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT bytes INTO used FROM @.artifact_budget WHERE run = p_run FOR UPDATE;
    SELECT length INTO written FROM @.artifact_draft WHERE body = p_body AND put = p_put;
    IF NOT FOUND THEN RETURN 'gone'; END IF;
    -- The answer was lost.
    IF written >= p_start + octet_length(p_bytes) THEN RETURN 'written'; END IF;
    IF used + octet_length(p_bytes) > p_quota THEN RETURN 'full'; END IF;
    INSERT INTO @.artifact_piece VALUES (p_body, p_start, p_bytes);
    UPDATE @.artifact_draft SET length = length + octet_length(p_bytes) WHERE body = p_body;
    UPDATE @.artifact_budget SET bytes = bytes + octet_length(p_bytes) WHERE run = p_run;
    RETURN 'written';
  END $$;

  -- F1, F2: makes a draft an artifact. Returns { listed }, { taken }, { gone }; { lost } when another process has taken
  -- the run over, which p_number and p_epoch name.
  CREATE FUNCTION @.artifact_list_1(
    p_run text, p_name text, p_writer text, p_body text, p_put text, p_length bigint, p_sha256 text,
    p_created_at double precision, p_number bigint, p_epoch bigint
  ) RETURNS json LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    draft record;
    earlier record;
    had_earlier boolean;
  BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
      PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM 1 FROM @.artifact_budget WHERE run = p_run FOR UPDATE;
    SELECT * INTO earlier FROM @.artifact WHERE run = p_run AND name = p_name;
    had_earlier := FOUND;
    -- The answer was lost.
    IF had_earlier AND earlier.body = p_body THEN RETURN json_build_object('listed', true); END IF;
    SELECT * INTO draft FROM @.artifact_draft WHERE body = p_body AND put = p_put;
    IF NOT FOUND THEN RETURN json_build_object('gone', true); END IF;
    IF p_number IS NOT NULL THEN
      PERFORM 1 FROM @.run WHERE run = p_number AND epoch = p_epoch FOR SHARE;
      IF NOT FOUND THEN RETURN json_build_object('lost', true); END IF;
    END IF;
    IF had_earlier AND earlier.writer <> p_writer THEN RETURN json_build_object('taken', earlier.writer); END IF;
    IF had_earlier THEN
      -- Those who read it have an hour.
      INSERT INTO @.artifact_garbage VALUES (earlier.body, clock_timestamp() + interval '1 hour');
      DELETE FROM @.artifact WHERE run = p_run AND name = p_name;
    END IF;
    INSERT INTO @.artifact (run, name, body, length, sha256, created_at, writer)
      VALUES (p_run, p_name, p_body, p_length, p_sha256, p_created_at, p_writer);
    DELETE FROM @.artifact_draft WHERE body = p_body;
    UPDATE @.artifact_budget SET bytes = bytes - coalesce(earlier.length, 0),
        count = count + (NOT had_earlier)::integer - draft.is_new::integer
      WHERE run = p_run;
    RETURN json_build_object('listed', true);
  END $$;

  -- F6: drops a draft, or keeps what has arrived of an upload.
  CREATE FUNCTION @.artifact_abandon_1(p_run text, p_body text, p_put text, p_keep boolean) RETURNS void
    LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    draft record;
  BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
      PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM 1 FROM @.artifact_budget WHERE run = p_run FOR UPDATE;
    SELECT * INTO draft FROM @.artifact_draft WHERE body = p_body AND put = p_put AND holder IS NOT NULL;
    IF NOT FOUND THEN RETURN; END IF;
    IF p_keep THEN
      UPDATE @.artifact_draft SET holder = NULL, is_new = false WHERE body = p_body;
    ELSE
      DELETE FROM @.artifact_draft WHERE body = p_body;
      INSERT INTO @.artifact_garbage VALUES (p_body, clock_timestamp());
    END IF;
    UPDATE @.artifact_budget SET count = count - draft.is_new::integer,
        bytes = bytes - CASE WHEN p_keep THEN 0 ELSE draft.length END
      WHERE run = p_run;
  END $$;
`

const removal = `
  -- Returns the bytes that the artifacts of a run, with what was cut, have taken.
  CREATE FUNCTION @.artifact_remove_1(p_run text) RETURNS bigint LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    freed bigint;
  BEGIN
    DELETE FROM @.artifact_budget WHERE run = p_run RETURNING bytes INTO freed;
    IF NOT FOUND THEN RETURN 0; END IF;
    WITH gone AS (DELETE FROM @.artifact WHERE run = p_run RETURNING body)
      INSERT INTO @.artifact_garbage SELECT body, clock_timestamp() FROM gone ON CONFLICT DO NOTHING;
    WITH gone AS (DELETE FROM @.artifact_draft WHERE run = p_run RETURNING body)
      INSERT INTO @.artifact_garbage SELECT body, clock_timestamp() FROM gone ON CONFLICT DO NOTHING;
    RETURN freed;
  END $$;

  -- Deletes at most so many pieces of bodies that are due. Whether there may be more.
  CREATE FUNCTION @.artifact_sweep_1(p_pieces integer) RETURNS boolean LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    each record;
    bodies integer := 0;
    room integer := p_pieces;
    deleted integer;
  BEGIN
    FOR each IN SELECT body FROM @.artifact_garbage WHERE due <= clock_timestamp()
        ORDER BY due LIMIT p_pieces FOR UPDATE SKIP LOCKED LOOP
      bodies := bodies + 1;
      DELETE FROM @.artifact_piece WHERE body = each.body AND start IN (
        SELECT start FROM @.artifact_piece WHERE body = each.body ORDER BY start LIMIT room);
      GET DIAGNOSTICS deleted = ROW_COUNT;
      IF deleted < room THEN DELETE FROM @.artifact_garbage WHERE body = each.body; END IF;
      room := room - deleted;
      EXIT WHEN room = 0;
    END LOOP;
    RETURN room = 0 OR bodies = p_pieces;
  END $$;

  -- As prune_runs_2, with the artifacts of the runs.
  CREATE FUNCTION @.prune_runs_3(p_runs bigint[], p_epochs bigint[], p_rows boolean) RETURNS json LANGUAGE plpgsql
    ${byIndex} AS $$
  DECLARE
    gone json := @.prune_runs_2(p_runs, p_epochs, p_rows);
  BEGIN
    PERFORM @.artifact_remove_1(r.id) FROM @.run r
      WHERE r.run IN (SELECT value::bigint FROM json_array_elements_text(gone));
    RETURN gone;
  END $$;

  -- Removes the artifacts of runs that a server of the version before has pruned, and of copies that were cut off.
  CREATE FUNCTION @.artifact_orphans_1() RETURNS bigint LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    freed bigint;
  BEGIN
    SELECT coalesce(sum(@.artifact_remove_1(o.run)), 0) INTO freed FROM (
      SELECT b.run FROM @.artifact_budget b JOIN @.run r ON r.id = b.run
        WHERE NOT r.opened AND (r.holder = 'pruned' OR NOT coalesce(@.is_held_1(r.holder), false))) o;
    RETURN freed;
  END $$;
`

export const artifactMigration: Migration = {
  title: 'artifacts',
  sql: tables + writing + removal,
}
