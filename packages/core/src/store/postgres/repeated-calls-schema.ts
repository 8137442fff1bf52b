/**
 * Calls about runs that are sent again when their answer was lost: the second one is answered as the first was. `@.` stands for
 * the schema.
 *
 *   run_posted   messages that were posted in the last hour, by the name that the sender has given them: a message that was taken
 *                is gone, and would be posted once more
 *
 * The process does not make two calls about one run at a time, so what it holds of the run is from a call whose answer was lost.
 */
import { reserveRun } from './journal-schema.ts'
import type { Migration } from './migration.ts'

/** The body of a function that reserves a run, instead of reservations that nothing is written to any more. */
function reserveAgain(period: string): string {
  return `DECLARE
      dead record;
      made record;
      there text;
    BEGIN
      FOR dead IN DELETE FROM @.run WHERE (id = p_id OR key = p_key) AND NOT opened
          AND (NOT @.is_held_1(holder) OR (id = p_id AND holder = p_holder)) RETURNING run, period LOOP
        DELETE FROM @.history WHERE run = dead.run AND period = dead.period;
        DELETE FROM @.result WHERE run = dead.run AND period = dead.period;
        DELETE FROM @.chunk WHERE run = dead.run AND period = dead.period;
      END LOOP;
      ${reserveRun(period, ownReservation)}
    END`
}

/** The first call was still under way when the second one looked. */
const ownReservation = `IF NOT FOUND THEN
      SELECT run, period INTO made FROM @.run WHERE id = p_id AND NOT opened AND holder = p_holder;
    END IF;`

const header = `p_id text, p_key text, p_title text, p_started_at double precision, p_state smallint,
      p_pid double precision, p_host text, p_command text, p_options bytea, p_holder text`

export const repeatedCallsMigration: Migration = {
  title: 'calls about runs that are sent again',
  sql: `
    CREATE TABLE @.run_posted (
      name text COLLATE "C" PRIMARY KEY,
      posted_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX ON @.run_posted (posted_at);

    -- J4, J8: reserves an id and a key. Returns the run, { exists } or { taken: the run that has the key }.
    CREATE FUNCTION @.open_run_2(${header}) RETURNS json LANGUAGE plpgsql AS $$
    ${reserveAgain('@.period_1()')} $$;
    CREATE FUNCTION @.restore_run_2(${header}) RETURNS json LANGUAGE plpgsql AS $$
    ${reserveAgain('@.period_of_1(p_started_at)')} $$;

    -- J5: takes a run that no process holds. Returns the run, { held } or { changed } when p_epoch is not current.
    CREATE FUNCTION @.resume_run_2(p_id text, p_holder text, p_epoch bigint) RETURNS json LANGUAGE plpgsql AS $$
    DECLARE
      there record;
      wait_ms double precision;
    BEGIN
      SELECT * INTO there FROM @.run WHERE id = p_id AND opened FOR UPDATE;
      IF NOT FOUND THEN RETURN json_build_object('changed', true); END IF;
      IF there.holder = p_holder AND there.epoch = p_epoch + 1 THEN
        NULL; -- The answer was lost.
      ELSIF there.epoch <> p_epoch THEN
        RETURN json_build_object('changed', true);
      ELSE
        SELECT extract(epoch FROM until - clock_timestamp()) * 1000 INTO wait_ms FROM @.holder
          WHERE id = there.holder AND id <> p_holder AND until > clock_timestamp() FOR SHARE;
        IF FOUND THEN
          RETURN json_build_object('held', wait_ms, 'pid', there.pid, 'host', there.host, 'command', there.command);
        END IF;
        UPDATE @.run SET holder = p_holder, epoch = epoch + 1 WHERE run = there.run;
      END IF;
      RETURN json_build_object('run', there.run, 'period', there.period, 'epoch', p_epoch + 1,
        'position', (SELECT coalesce(max(position), 0) FROM @.history
          WHERE run = there.run AND period = there.period));
    END $$;

    -- What a process has taken, or reserved, and does not write.
    CREATE FUNCTION @.leave_runs_1(p_ids text[], p_holder text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM @.run WHERE id = ANY (p_ids) AND holder = p_holder AND NOT opened;
      UPDATE @.run SET holder = NULL WHERE id = ANY (p_ids) AND holder = p_holder;
    END $$;
  `,
}
