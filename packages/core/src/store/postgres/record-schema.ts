/** Rows of runs, as the recorder writes them. `@.` stands for the schema. */
import { checkEpochs, makePartitions, writeStandings } from './journal-schema.ts'
import { byIndex, type Migration } from './migration.ts'

/** A row is there already only when a statement is sent again: looking for it costs a third of writing it (0193). */
function insertRows(isAgain: boolean): string {
  const unlessThere = isAgain ? 'ON CONFLICT DO NOTHING' : ''
  return `
      INSERT INTO @.history (period, run, position, kind, node, state, attempt, at, detail)
        SELECT p_period[h.run], p_run[h.run], h.position, h.kind, h.node, h.state, h.attempt, h.at, h.detail
        FROM unnest(h_run, h_position, h_kind, h_node, h_state, h_attempt, h_at, h_detail)
          h (run, position, kind, node, state, attempt, at, detail)
        WHERE ok[h.run] ${unlessThere};
      IF cardinality(v_run) > 0 THEN
        INSERT INTO @.result (period, run, position, body, name)
          SELECT p_period[v.run], p_run[v.run], v.position, v.body, v.name
          FROM unnest(v_run, v_position, v_body, v_name) v (run, position, body, name)
          WHERE ok[v.run] ${unlessThere};
      END IF;`
}

/** Which runs have not ended, by the column of their state: the states of journal/states.ts below 4. */
export function openRuns(state: string): string {
  return `${state} < 4`
}

/**
 * Runs that have not ended are few: they are found without reading the ended ones. Old ones are converted in slices.
 */
export const openRunsMigration: Migration = {
  title: 'runs that have not ended, removal of many runs',
  sql: `
    CREATE INDEX run_open ON @.run (run) WHERE opened AND ${openRuns('state')};

    -- Removes runs that no process holds, and returns them. p_rows: with their rows; without, because the partitions that
    -- they are in are dropped afterwards.
    CREATE FUNCTION @.prune_runs_2(p_runs bigint[], p_epochs bigint[], p_rows boolean) RETURNS json LANGUAGE plpgsql
      ${byIndex} AS $$
    DECLARE
      gone bigint[];
      each record;
    BEGIN
      SELECT array_agg(run) INTO gone FROM (
        SELECT r.run FROM unnest(p_runs, p_epochs) p (run, epoch) JOIN @.run r ON r.run = p.run
          WHERE r.epoch = p.epoch AND r.opened AND NOT coalesce(@.is_held_1(r.holder), false)
          ORDER BY r.run FOR UPDATE OF r) free;
      IF gone IS NULL THEN RETURN '[]'; END IF;
      IF p_rows THEN
        FOR each IN SELECT run, period FROM @.run WHERE run = ANY (gone) LOOP
          DELETE FROM @.history WHERE run = each.run AND period = each.period;
          DELETE FROM @.result WHERE run = each.run AND period = each.period;
          DELETE FROM @.chunk WHERE run = each.run AND period = each.period;
        END LOOP;
      END IF;
      DELETE FROM @.run_message WHERE run = ANY (gone);
      UPDATE @.run SET key = NULL, opened = false, holder = 'pruned', title = '', command = '', options = '', counts = NULL
        WHERE run = ANY (gone);
      RETURN array_to_json(gone);
    END $$;

    -- Weeks before this one in which no run is left: their partitions can be dropped (C12).
    CREATE FUNCTION @.empty_periods_1() RETURNS json LANGUAGE plpgsql AS $$
    BEGIN
      RETURN (SELECT coalesce(json_agg(period ORDER BY period), '[]') FROM (
        SELECT substr(c.relname, 9)::integer AS period FROM pg_class c
          WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = '@.run'::regclass) AND c.relkind = 'r' AND c.relname ~ '^history_[0-9]+$') p
        WHERE period < @.period_1()
          AND NOT EXISTS (SELECT FROM @.run r WHERE r.period = p.period AND r.holder IS DISTINCT FROM 'pruned'
            AND (r.opened OR @.is_held_1(r.holder))));
    END $$;
    CREATE INDEX run_period ON @.run (period) WHERE holder IS DISTINCT FROM 'pruned';
  `,
}

export const recordMigration: Migration = {
  title: 'rows that are written for the first time',
  sql: `
    -- J1, J3, J5: rows of several runs. Returns the runs, counted from 1, that another process has taken: nothing of them was
    -- written. J9: with them the removal of the messages that led to them. p_again: a row that is there is left; without it
    -- that is an error (23505): nothing was written, and the client sends the statement with p_again.
    CREATE FUNCTION @.record_3(
      p_again boolean, p_durable boolean, p_run bigint[], p_epoch bigint[], p_period integer[],
      h_run integer[], h_position bigint[], h_kind smallint[], h_node text[], h_state smallint[], h_attempt bigint[],
      h_at double precision[], h_detail text[],
      v_run integer[], v_position bigint[], v_body bytea[], v_name text[],
      s_run integer[], s_position bigint[], s_state smallint[], s_ended_at double precision[], s_counts text[],
      s_pid double precision[], s_host text[], s_command text[],
      l_run integer[], t_run integer[], t_id bigint[]
    ) RETURNS json LANGUAGE plpgsql ${byIndex} SET plan_cache_mode = force_generic_plan AS $$
    DECLARE
      ok boolean[];
      lost json;
    BEGIN
      ${checkEpochs}
      IF p_again THEN ${insertRows(true)}
      ELSE ${insertRows(false)}
      END IF;
      ${writeStandings}
      IF cardinality(t_run) > 0 THEN
        DELETE FROM @.run_message m USING unnest(t_run, t_id) t (run, id) WHERE m.id = t.id AND ok[t.run];
      END IF;
      IF false = ANY (ok) THEN
        SELECT json_agg(n) INTO lost FROM unnest(ok) WITH ORDINALITY p (is_ok, n) WHERE NOT p.is_ok;
      END IF;
      RETURN lost;
    END $$;
  `,
}

/** Runs that are copied from another journal lie in the week in which they started. */
export const restoreMigration: Migration = {
  title: 'runs that are copied from another journal',
  sql: `
    -- The week of a time, at most the current one, with its partitions: as period_1.
    CREATE FUNCTION @.period_of_1(p_at double precision) RETURNS integer LANGUAGE plpgsql AS $$
    DECLARE
      this integer := @.period_1();
      week integer := least(this, greatest(0, floor(p_at / (7 * 86400000.0))))::integer;
      part text;
    BEGIN
      IF to_regclass(format('@.%I', 'chunk_' || week)) IS NOT NULL THEN RETURN week; END IF;
      LOCK TABLE @.meta IN EXCLUSIVE MODE;
      ${makePartitions('week')}
      RETURN week;
    END $$;
  `,
}
