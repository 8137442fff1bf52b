/**
 * Messages to runs, and the removal of runs. `@.` stands for the schema.
 *
 * A run that was removed leaves a row without key and content, so that its id is not used again (J4). It is not `opened`, so
 * no reader sees it, and it is held by `pruned`, whose lease never runs out, so no process takes the id.
 */
import type { Migration } from './migration.ts'

const recordTypes = `boolean, bigint[], bigint[], integer[],
  integer[], bigint[], smallint[], text[], smallint[], bigint[], double precision[], text[],
  integer[], bigint[], bytea[], text[],
  integer[], bigint[], smallint[], double precision[], text[], double precision[], text[], text[],
  integer[]`

const recordPlaces = Array.from({ length: 25 }, (_, index) => `$${index + 1}`).join(', ')

export const runMailMigration: Migration = {
  title: 'messages to runs, removal of runs',
  sql: `
    CREATE TABLE @.run_message (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      run bigint NOT NULL,
      kind text NOT NULL,
      sender text NOT NULL
    );
    CREATE INDEX ON @.run_message (run, id);

    -- J9: 'posted', 'unknown', or 'ended'. A run that ends at this moment waits for this, or this for it.
    CREATE FUNCTION @.post_run_1(p_id text, p_kind text, p_sender text, p_ends smallint[]) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      there record;
    BEGIN
      SELECT run, state INTO there FROM @.run WHERE id = p_id AND opened FOR SHARE;
      IF NOT FOUND THEN RETURN 'unknown'; END IF;
      IF there.state = ANY (p_ends) THEN RETURN 'ended'; END IF;
      INSERT INTO @.run_message (run, kind, sender) VALUES (there.run, p_kind, p_sender);
      RETURN 'posted';
    END $$;

    -- J9: record_1, and with the rows of a run the removal of the messages that led to them.
    CREATE FUNCTION @.record_2(${recordTypes}, integer[], bigint[]) RETURNS json LANGUAGE plpgsql AS $$
    DECLARE
      lost json;
    BEGIN
      lost := @.record_1(${recordPlaces});
      IF cardinality($26) > 0 THEN
        DELETE FROM @.run_message m USING unnest($26, $27) t (run, id)
          WHERE m.id = t.id AND (lost IS NULL OR NOT lost::jsonb @> to_jsonb(t.run));
      END IF;
      RETURN lost;
    END $$;

    INSERT INTO @.holder VALUES ('pruned', 'infinity');

    -- Removes a run that no process holds. False when it has changed since it was read.
    CREATE FUNCTION @.prune_run_1(p_run bigint, p_epoch bigint) RETURNS boolean LANGUAGE plpgsql AS $$
    DECLARE
      there record;
    BEGIN
      SELECT period, holder INTO there FROM @.run WHERE run = p_run AND epoch = p_epoch AND opened FOR UPDATE;
      IF NOT FOUND OR @.is_held_1(there.holder) THEN RETURN false; END IF;
      DELETE FROM @.history WHERE run = p_run AND period = there.period;
      DELETE FROM @.result WHERE run = p_run AND period = there.period;
      DELETE FROM @.chunk WHERE run = p_run AND period = there.period;
      DELETE FROM @.run_message WHERE run = p_run;
      UPDATE @.run SET key = NULL, opened = false, holder = 'pruned', title = '', command = '', options = '', counts = NULL
        WHERE run = p_run;
      RETURN true;
    END $$;
  `,
}

/** Parts of nodes, and signals: messages with a name and a value. */
export const partsMigration: Migration = {
  title: 'parts of nodes, signals',
  sql: `
    ALTER TABLE @.run_message ADD COLUMN name text, ADD COLUMN value bytea;
    -- The rows of the parts of one node are read together when it is resumed.
    CREATE INDEX history_part ON @.history (run, node, position) WHERE kind = 5;

    -- As post_run_1, with what a signal carries.
    CREATE FUNCTION @.post_run_2(p_id text, p_kind text, p_sender text, p_ends smallint[], p_name text, p_value bytea)
      RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      there record;
    BEGIN
      SELECT run, state INTO there FROM @.run WHERE id = p_id AND opened FOR SHARE;
      IF NOT FOUND THEN RETURN 'unknown'; END IF;
      IF there.state = ANY (p_ends) THEN RETURN 'ended'; END IF;
      INSERT INTO @.run_message (run, kind, sender, name, value)
        VALUES (there.run, p_kind, p_sender, p_name, p_value);
      RETURN 'posted';
    END $$;
  `,
}
