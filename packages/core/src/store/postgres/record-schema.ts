/** Rows of runs, as the recorder writes them. `@.` stands for the schema. */
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

export const recordMigration: Migration = {
  title: 'rows that are written for the first time',
  sql: `
    -- J1, J3, J5, J9: record_2, for which p_again is always true. Without it a row that is there is an error (23505):
    -- nothing was written, and the client sends the statement with p_again.
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
      IF NOT p_durable THEN
        PERFORM set_config('synchronous_commit', 'off', true);
      ELSIF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
      END IF;
      PERFORM 1 FROM @.run WHERE run = ANY (p_run) ORDER BY run FOR SHARE;
      SELECT array_agg(coalesce(r.epoch = p.epoch, false) ORDER BY p.n) INTO ok
        FROM unnest(p_run, p_epoch) WITH ORDINALITY p (run, epoch, n) LEFT JOIN @.run r ON r.run = p.run;
      IF p_again THEN ${insertRows(true)}
      ELSE ${insertRows(false)}
      END IF;
      IF cardinality(s_run) > 0 THEN
        UPDATE @.run r SET state = s.state, state_position = s.position, ended_at = s.ended_at, counts = s.counts,
            opened = true, pid = coalesce(s.pid, r.pid), host = coalesce(s.host, r.host),
            command = coalesce(s.command, r.command)
          FROM unnest(s_run, s_position, s_state, s_ended_at, s_counts, s_pid, s_host, s_command)
            s (run, position, state, ended_at, counts, pid, host, command)
          WHERE r.run = p_run[s.run] AND ok[s.run] AND s.position > r.state_position;
      END IF;
      IF cardinality(l_run) > 0 THEN
        UPDATE @.run r SET holder = NULL FROM unnest(l_run) l (run) WHERE r.run = p_run[l.run] AND ok[l.run];
      END IF;
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
