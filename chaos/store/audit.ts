/**
 * A record made by the database itself, with triggers that are independent of our code: which server wrote each
 * acknowledgement and each outcome, and who owned the shard at that moment.
 *
 *  U1  A server writes only to shards that it owns at that moment: its writes after a take-over are refused.
 *  U2  An acknowledgement has at most one outcome.
 *  U3  No acknowledgement is written twice.
 */
import type { FaultyDatabase } from './faulty-database.ts'

type Asked = Pick<FaultyDatabase, 'query' | 'count'>

const triggers = `
  CREATE TABLE chaos.seen (
    what text NOT NULL, id text NOT NULL, member text NOT NULL, owner text, at timestamptz NOT NULL DEFAULT clock_timestamp());
  CREATE TABLE chaos.member (number text NOT NULL, pid text NOT NULL);

  CREATE FUNCTION chaos.see_job() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    job record := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
  BEGIN
    INSERT INTO chaos.seen SELECT
      CASE TG_OP WHEN 'DELETE' THEN 'ended' ELSE 'acknowledged' END, job.handle,
      coalesce(current_setting('heddle.member', true), ''), (SELECT owner FROM chaos.shard WHERE shard = job.shard);
    RETURN NULL;
  END $$;
  CREATE TRIGGER see AFTER INSERT OR DELETE ON chaos.job FOR EACH ROW EXECUTE FUNCTION chaos.see_job();

  CREATE FUNCTION chaos.see_outcome() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO chaos.seen VALUES (TG_OP, NEW.handle, '', NULL);
    RETURN NULL;
  END $$;
  CREATE TRIGGER see AFTER INSERT OR UPDATE OR DELETE ON chaos.outcome FOR EACH ROW EXECUTE FUNCTION chaos.see_outcome();
`

/** Begins to watch. The tables must be there. */
export async function installAudit(database: Asked): Promise<void> {
  await database.query(triggers)
}

/** Names the process of a server: its id in the store holds it. */
export async function noteMember(database: Asked, number: number, pid: number): Promise<void> {
  await database.query('INSERT INTO chaos.member VALUES ($1, $2)', [String(number), String(pid)])
}

export interface AuditReport {
  /** U1: rows that a server wrote to a shard of another. */
  readonly foreignWrites: number
  /** U2, U3: acknowledgements with more than one outcome, or written more than once. */
  readonly doubled: number
  readonly outcomes: number
}

export async function readAudit(database: Asked): Promise<AuditReport> {
  const count = (text: string): Promise<number> => database.count(text)
  return {
    // The id of a server is HOST-PID-DATE-TIME-LETTERS; a host may contain dashes.
    foreignWrites: await count(`SELECT count(*) AS n FROM chaos.seen s
      LEFT JOIN chaos.member m ON m.number = s.member
      WHERE s.what IN ('acknowledged', 'ended')
        AND (s.owner IS NULL OR m.pid IS NULL OR s.owner !~ ('-' || m.pid || '-[0-9]+-[0-9]+-[^-]+$'))`),
    doubled: await count(`SELECT count(*) AS n FROM (
      SELECT FROM chaos.seen WHERE what IN ('acknowledged', 'ended', 'INSERT') GROUP BY what, id HAVING count(*) > 1
      UNION ALL SELECT FROM chaos.seen WHERE what IN ('UPDATE', 'DELETE')) twice`),
    outcomes: await count('SELECT count(*) AS n FROM chaos.outcome'),
  }
}
