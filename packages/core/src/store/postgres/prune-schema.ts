/** Removal of runs of any size: marked first, then their rows in slices. `@.` stands for the schema. */
import { byIndex, type Migration } from './migration.ts'

export const pruneMigration: Migration = {
  title: 'removal of large runs',
  sql: `
    -- As 'pruned': a run that it holds belongs to no process. Its rows are being removed, and its week keeps its partitions.
    INSERT INTO @.holder VALUES ('pruning', 'infinity');
    CREATE INDEX run_pruning ON @.run (run) WHERE holder = 'pruning';

    -- As prune_runs_3, but rows are never removed here. p_rows: prune_rows_1 removes them; without, because the partitions
    -- that they are in are dropped afterwards.
    CREATE FUNCTION @.prune_runs_4(p_runs bigint[], p_epochs bigint[], p_rows boolean) RETURNS json LANGUAGE plpgsql
      ${byIndex} AS $$
    DECLARE
      gone json := @.prune_runs_3(p_runs, p_epochs, false);
    BEGIN
      IF p_rows THEN
        UPDATE @.run SET holder = 'pruning'
          WHERE run IN (SELECT value::bigint FROM json_array_elements_text(gone));
      END IF;
      RETURN gone;
    END $$;

    -- Removes so many rows of runs that are marked, oldest first, and says whether it found such a run. Runs that another
    -- prune is at are left to it. Chunks are large: one counts as sixteen rows.
    CREATE FUNCTION @.prune_rows_1(p_most integer) RETURNS boolean LANGUAGE plpgsql ${byIndex} AS $$
    DECLARE
      each record;
      room integer := p_most;
      deleted integer;
      last_one bigint;
      found_one boolean := false;
    BEGIN
      FOR each IN SELECT run, period FROM @.run WHERE holder = 'pruning' ORDER BY run LIMIT 500 FOR UPDATE SKIP LOCKED LOOP
        found_one := true;
        EXIT WHEN room <= 0;
        SELECT count(*), max(position) INTO deleted, last_one FROM (
          SELECT position FROM @.history WHERE run = each.run AND period = each.period ORDER BY position LIMIT room) h;
        DELETE FROM @.result WHERE run = each.run AND period = each.period AND position <= last_one;
        DELETE FROM @.history WHERE run = each.run AND period = each.period AND position <= last_one;
        room := room - deleted;
        EXIT WHEN room <= 0;
        DELETE FROM @.chunk WHERE run = each.run AND period = each.period AND (name, number) IN (
          SELECT name, number FROM @.chunk WHERE run = each.run AND period = each.period
            ORDER BY name, number LIMIT 1 + room / 16);
        GET DIAGNOSTICS deleted = ROW_COUNT;
        room := room - 16 * deleted;
        EXIT WHEN room <= 0;
        UPDATE @.run SET holder = 'pruned' WHERE run = each.run;
      END LOOP;
      RETURN found_one;
    END $$;
  `,
}
