/**
 * The tables and functions of a store on PostgreSQL, and how a database gets them. `@.` stands for the schema.
 *
 *   server    one row for each server: until when its lease lasts (docs/decisions/0170)
 *   shard     256 rows: owner and epoch. Changes only when a shard is acquired or released
 *   session   one row for each session of a server; `fenced` ends it
 *   commit    one row for each commit of a session, with its refused batches. Inserted, not updated: a transaction that
 *             is kept open for minutes would keep every version of a row that each commit updates
 *   job       acknowledged jobs without an outcome: inserted at the acknowledgement, deleted at the end
 *   outcome   outcomes of acknowledged jobs
 *
 * Every transition is one function, so it is one statement for the client: the server never waits for a client inside a
 * transaction, and a client that dies leaves no lock. Each statement inside a function sees everything committed before
 * it, so rows read after a lock was granted are current.
 *
 * Locks are taken in this order: session, server, shards by number. Functions that use `SKIP LOCKED` wait for none.
 *
 * C11: a migration never changes or drops anything that the version before uses. A function whose meaning changes gets
 * a new name; the old one is dropped one version later. `oldest` is the oldest version that may still work on the
 * tables.
 */

import { artifactMigration } from './artifact-schema.ts'
import { journalMigration } from './journal-schema.ts'
import { byIndex, type Migration } from './migration.ts'
import { pruneMigration } from './prune-schema.ts'
import { openRunsMigration, recordMigration, restoreMigration } from './record-schema.ts'
import { repeatedCallsMigration } from './repeated-calls-schema.ts'
import { mailOrderMigration, partsMigration, runMailMigration } from './run-mail-schema.ts'
import { tableMigration } from './table-schema.ts'

const tables = `
  CREATE TABLE @.server (
    id text COLLATE "C" PRIMARY KEY,
    until timestamptz NOT NULL
  ) WITH (fillfactor = 50);

  CREATE TABLE @.shard (
    shard smallint PRIMARY KEY,
    owner text COLLATE "C",
    epoch bigint NOT NULL
  ) WITH (fillfactor = 50);
  INSERT INTO @.shard SELECT n, NULL, 0 FROM generate_series(0, 255) n;

  CREATE TABLE @.session (
    id text COLLATE "C" PRIMARY KEY,
    fenced boolean NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT now()
  ) WITH (fillfactor = 50);

  CREATE TABLE @.commit (
    session text COLLATE "C",
    number bigint,
    batches integer NOT NULL,
    refusals json, -- NULL when all were written
    PRIMARY KEY (session, number)
  );

  CREATE TABLE @.job (
    handle text COLLATE "C" PRIMARY KEY,
    shard smallint NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    job text NOT NULL,
    version text NOT NULL,
    input bytea NOT NULL,
    started boolean NOT NULL DEFAULT false,
    interruptions smallint NOT NULL DEFAULT 0,
    set_aside boolean NOT NULL DEFAULT false
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
  CREATE INDEX ON @.job (shard, number);

  CREATE TABLE @.outcome (
    handle text COLLATE "C" PRIMARY KEY,
    outcome text NOT NULL,
    ended_at timestamptz NOT NULL DEFAULT now()
  );
`

const ownership = `
  -- C1: the lease of the server lasts from now on, by the clock of the database.
  CREATE FUNCTION @.renew_1(p_server text, p_ttl double precision) RETURNS json LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO @.server AS s VALUES (p_server, clock_timestamp() + p_ttl * interval '1 millisecond')
      ON CONFLICT (id) DO UPDATE SET until = clock_timestamp() + p_ttl * interval '1 millisecond';
    -- Read after the row above was locked: a server that acquires at this moment holds that row until it has committed.
    RETURN json_build_object(
      'held', (SELECT coalesce(json_agg(json_build_array(shard, epoch) ORDER BY shard), '[]')
        FROM @.shard WHERE owner = p_server),
      'servers', (SELECT count(*) FROM @.server WHERE until > clock_timestamp()));
  END $$;

  -- C1, D1: shards without an owner, or of a server whose lease has run out.
  CREATE FUNCTION @.acquire_1(p_server text, p_most integer) RETURNS json LANGUAGE plpgsql AS $$
  DECLARE
    at timestamptz := clock_timestamp();
    silent text[];
    granted json;
  BEGIN
    -- A lease that is being renewed waits here for the other, in either order: 0170.
    SELECT array_agg(d.id) INTO silent FROM (
      SELECT id FROM @.server WHERE until <= at ORDER BY id FOR SHARE) d;
    PERFORM 1 FROM @.server WHERE id = p_server AND until > at;
    IF NOT FOUND THEN RETURN '[]'; END IF;
    WITH free AS (
      SELECT shard FROM @.shard WHERE owner IS NULL OR owner = ANY (silent)
      ORDER BY shard LIMIT p_most FOR UPDATE SKIP LOCKED
    ), taken AS (
      UPDATE @.shard s SET owner = p_server, epoch = s.epoch + 1 FROM free WHERE s.shard = free.shard
      RETURNING s.shard, s.epoch
    )
    SELECT coalesce(json_agg(json_build_array(shard, epoch) ORDER BY shard), '[]') INTO granted FROM taken;
    RETURN granted;
  END $$;

  CREATE FUNCTION @.release_1(p_server text, p_shards smallint[], p_epochs bigint[]) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM 1 FROM @.shard WHERE shard = ANY (p_shards) ORDER BY shard FOR UPDATE;
    UPDATE @.shard s SET owner = NULL FROM unnest(p_shards, p_epochs) g (shard, epoch)
      WHERE s.shard = g.shard AND s.epoch = g.epoch AND s.owner = p_server;
  END $$;
`

const sessions = `
  CREATE FUNCTION @.open_session_1(p_session text) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO @.session (id, fenced) VALUES (p_session, false) ON CONFLICT (id) DO NOTHING;
  END $$;

  -- D4: waits for a commit of the session that is under way; one that comes later finds the session fenced.
  CREATE FUNCTION @.fence_1(p_session text) RETURNS json LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO @.session (id, fenced) VALUES (p_session, true) ON CONFLICT (id) DO UPDATE SET fenced = true;
    RETURN (SELECT json_build_object('last', number, 'batches', batches, 'refusals', refusals)
      FROM @.commit WHERE session = p_session ORDER BY number DESC LIMIT 1);
  END $$;

  -- Removes what servers of earlier days have left, and all but the last commits of a session.
  CREATE FUNCTION @.sweep_1(p_session text, p_below bigint) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    DELETE FROM @.commit WHERE session = p_session AND number < p_below;
    DELETE FROM @.server s WHERE until < now() - interval '1 day'
      AND NOT EXISTS (SELECT FROM @.shard WHERE owner = s.id);
    WITH old AS (
      DELETE FROM @.session s WHERE opened_at < now() - interval '1 day' AND id <> p_session
        AND NOT EXISTS (SELECT FROM @.server v WHERE starts_with(s.id, v.id || '/'))
      RETURNING id
    )
    DELETE FROM @.commit c USING old WHERE c.session = old.id;
  END $$;
`

const commit = `
  -- D2, D3: one transaction. Returns what was refused: [batch, 'epoch']. Parameters c_ and t_ are of earlier versions,
  -- whose servers never had anything to send in them.
  CREATE OR REPLACE FUNCTION @.commit_1(
    p_session text, p_number bigint, p_shards smallint[], p_epochs bigint[],
    c_batch integer[], c_space text[], c_name text[], c_holder text[],
    a_batch integer[], a_handle text[], a_job text[], a_version text[], a_input bytea[],
    m_batch integer[], m_handle text[], m_mark text[],
    e_batch integer[], e_handle text[], e_outcome text[],
    t_batch integer[], t_id text[]
  ) RETURNS json LANGUAGE plpgsql ${byIndex} AS $$
  DECLARE
    ok boolean[];
    each record;
    refused json[] := '{}';
    refusals json;
  BEGIN
    -- Law 6: what is acknowledged is on the medium, also where synchronous commits are turned off for a role.
    IF current_setting('synchronous_commit') = 'off' THEN
      PERFORM set_config('synchronous_commit', 'on', true);
    END IF;

    PERFORM 1 FROM @.session WHERE id = p_session AND NOT fenced FOR SHARE;
    IF NOT FOUND OR p_number <> 1 + coalesce((SELECT max(number) FROM @.commit WHERE session = p_session), 0) THEN
      RAISE EXCEPTION 'commit % does not follow in its session', p_number USING ERRCODE = 'HD001';
    END IF;

    PERFORM 1 FROM @.shard WHERE shard = ANY (p_shards) ORDER BY shard FOR SHARE;
    SELECT array_agg(coalesce(s.epoch = b.epoch, false) ORDER BY b.n) INTO ok
      FROM unnest(p_shards, p_epochs) WITH ORDINALITY b (shard, epoch, n) LEFT JOIN @.shard s ON s.shard = b.shard;
    IF false = ANY (ok) THEN
      SELECT array_agg(json_build_array(n, 'epoch')) INTO refused
        FROM unnest(ok) WITH ORDINALITY b (ok, n) WHERE NOT b.ok;
    END IF;

    IF cardinality(a_batch) > 0 THEN
      INSERT INTO @.job (handle, shard, job, version, input)
        SELECT handle, p_shards[batch], job, version, input
        FROM unnest(a_batch, a_handle, a_job, a_version, a_input) WITH ORDINALITY a (batch, handle, job, version, input, n)
        WHERE ok[batch] ORDER BY n
        ON CONFLICT (handle) DO NOTHING;
    END IF;

    IF m_mark && ARRAY['interrupted', 'set-aside', 'put-back'] THEN
      FOR each IN SELECT * FROM unnest(m_batch, m_handle, m_mark) m (batch, handle, mark) LOOP
        CONTINUE WHEN NOT ok[each.batch];
        IF each.mark = 'started' THEN
          UPDATE @.job SET started = true WHERE handle = each.handle;
        ELSIF each.mark = 'put-back' THEN
          UPDATE @.job SET started = false WHERE handle = each.handle;
        ELSE
          UPDATE @.job SET started = false, interruptions = interruptions + 1, set_aside = each.mark = 'set-aside'
            WHERE handle = each.handle AND started;
        END IF;
      END LOOP;
    ELSIF cardinality(m_batch) > 0 THEN
      UPDATE @.job j SET started = true FROM unnest(m_batch, m_handle) m (batch, handle)
        WHERE j.handle = m.handle AND ok[m.batch] AND NOT j.started;
    END IF;

    IF cardinality(e_batch) > 0 THEN
      WITH ended AS (
        SELECT DISTINCT ON (handle) handle, outcome
        FROM unnest(e_batch, e_handle, e_outcome) WITH ORDINALITY e (batch, handle, outcome, n)
        WHERE ok[batch] ORDER BY handle, n
      ), gone AS (
        DELETE FROM @.job j USING ended WHERE j.handle = ended.handle RETURNING j.handle, ended.outcome
      )
      INSERT INTO @.outcome (handle, outcome) SELECT handle, outcome FROM gone ON CONFLICT (handle) DO NOTHING;
    END IF;

    IF cardinality(refused) > 0 THEN refusals := array_to_json(refused); END IF;
    INSERT INTO @.commit VALUES (p_session, p_number, cardinality(p_shards), refusals);
    RETURN refusals;
  END $$;
`

export const migrations: readonly Migration[] = [
  {
    title: 'ownership, commits, acknowledged jobs',
    sql: tables + ownership + sessions + commit,
  },
  journalMigration,
  runMailMigration,
  partsMigration,
  tableMigration,
  // Once more, for tables of earlier versions: commit_1 knows a mark that those versions never send.
  { title: 'jobs that are put back', sql: commit },
  recordMigration,
  openRunsMigration,
  restoreMigration,
  artifactMigration,
  pruneMigration,
  repeatedCallsMigration,
  mailOrderMigration,
  // Once more, without claims of names and messages, which had no caller.
  { title: 'commits without claims', sql: `${commit} DROP TABLE IF EXISTS @.claim, @.message;` },
]

/** The version of a database that has seen all migrations. */
export const schemaVersion: number = migrations.length

/** The oldest version of this code that works on these tables. */
export const oldestVersion = 12
