/**
 * Messages to runs, and the removal of runs. `@.` stands for the schema.
 *
 * A run that was removed leaves a row without key and content, so that its id is not used again (J4). It is not `opened`, so
 * no reader sees it, and it is held by `pruned`, whose lease never runs out, so no process takes the id.
 */
import type { Migration } from './migration.ts'

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

    INSERT INTO @.holder VALUES ('pruned', 'infinity');
  `,
}

/** Parts of nodes, and signals: messages with a name and a value. */
export const partsMigration: Migration = {
  title: 'parts of nodes, signals',
  sql: `
    ALTER TABLE @.run_message ADD COLUMN name text, ADD COLUMN value bytea;
    -- The rows of the parts of one node are read together when it is resumed.
    CREATE INDEX history_part ON @.history (run, node, position) WHERE kind = 5;
  `,
}

/**
 * M1 of journal/mailbox.ts: two posts to one run at the same moment follow each other, so that the message with the higher number is
 * not readable before the other one. Servers of the version before post in the same way from here on.
 */
export const mailOrderMigration: Migration = {
  title:
    'messages become readable in the order of their numbers; functions that no version calls any more',
  sql: `
    -- J9: the run, or why it was refused. A run that ends at this moment waits for this, or this for it.
    CREATE FUNCTION @.post_run_4(
      p_message text, p_id text, p_kind text, p_sender text, p_ends smallint[], p_name text, p_value bytea
    ) RETURNS json LANGUAGE plpgsql AS $$
    DECLARE
      there record;
    BEGIN
      -- Law 6: what is acknowledged is on the medium, also where synchronous commits are turned off for a role.
      IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
      END IF;
      SELECT run, state INTO there FROM @.run WHERE id = p_id AND opened FOR NO KEY UPDATE;
      IF NOT FOUND THEN RETURN json_build_object('refused', 'unknown'); END IF;
      PERFORM 1 FROM @.run_posted WHERE name = p_message;
      IF FOUND THEN RETURN json_build_object('run', there.run); END IF;
      IF there.state = ANY (p_ends) THEN RETURN json_build_object('refused', 'ended'); END IF;
      INSERT INTO @.run_posted (name) VALUES (p_message) ON CONFLICT DO NOTHING;
      INSERT INTO @.run_message (run, kind, sender, name, value)
        VALUES (there.run, p_kind, p_sender, p_name, p_value);
      -- More than one, so that they do not add up.
      DELETE FROM @.run_posted WHERE name IN (
        SELECT name FROM @.run_posted WHERE posted_at < now() - interval '1 hour'
          ORDER BY posted_at LIMIT 10 FOR UPDATE SKIP LOCKED);
      RETURN json_build_object('run', there.run);
    END $$;

    CREATE OR REPLACE FUNCTION @.post_run_3(
      p_message text, p_id text, p_kind text, p_sender text, p_ends smallint[], p_name text, p_value bytea
    ) RETURNS text LANGUAGE sql AS $$
      SELECT coalesce(@.post_run_4(p_message, p_id, p_kind, p_sender, p_ends, p_name, p_value) ->> 'refused', 'posted')
    $$;

    DROP FUNCTION IF EXISTS @.open_run_1, @.resume_run_1, @.restore_run_1, @.record_1, @.record_2,
      @.post_run_1, @.post_run_2, @.prune_run_1;
  `,
}
