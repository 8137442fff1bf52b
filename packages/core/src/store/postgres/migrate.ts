import { HeddleError } from '../../errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { AnyTable } from '../tables.ts'
import type { PostgresAddress } from './address.ts'
import { isRefused, type Link } from './database-link.ts'
import { callPatiently } from './patient-call.ts'
import { migrations, oldestVersion, schemaVersion } from './schema.ts'
import { declarationOf, namesOf } from './table-schema.ts'

/** Codes of two processes that make the same tables at the same moment: one of them tries again. */
const collisions = ['23505', '42P06', '42P07', '40P01', 'XX000']
const mostAttempts = 5

/**
 * Milliseconds that a migration waits for one lock. Servers that write wait behind it: when a transaction is kept open
 * (a backup, a person at a prompt), it steps aside and tries again, so that they continue.
 */
const lockWithin = 500

/** Milliseconds after which it gives up. */
const retryFor = 60_000

/** The code of a lock that was not granted in time. */
const lockTimeout = '55P03'

/** Undefined tables, or an undefined schema. */
const absent = ['42P01', '3F000']

interface Version {
  readonly version: number
  /** The oldest version of this code that works on the tables. */
  readonly oldest: number
}

/** The version of the tables; undefined when there are none. */
export async function readVersion(
  link: Link,
  { schema }: PostgresAddress,
): Promise<Version | undefined> {
  try {
    const statement = `SELECT version, oldest FROM ${schema}.meta`
    const [row] = await link.call<[number, number]>('be read', statement)
    return row && { version: row[0], oldest: row[1] }
  } catch (error) {
    if (isRefused(error, ...absent)) return undefined
    throw error
  }
}

/**
 * Makes the tables, or brings them up to date (C11: servers of the version before keep working on them).
 *
 * @throws `HDL_JOURNAL_NEWER` when the tables are of a version that this code cannot work on; `HDL_STORE_FAILED` at once when
 * the server is read-only.
 */
export async function migrate(link: Link, address: PostgresAddress, clock: Clock): Promise<void> {
  const found = await checkVersion(link, address)
  await checkNotReadOnly(link, address)
  if (found !== undefined && found.version >= schemaVersion) return
  await makeTables(link, address, clock, migrationOf(address.schema))
}

/** Later a fail-over may make a server read-only for a moment, and calls wait for its end. At the start it is a mistake. */
async function checkNotReadOnly(link: Link, { shown }: PostgresAddress): Promise<void> {
  const statement = `SELECT current_setting('transaction_read_only')`
  const [row] = await link.call<[string]>('be read', statement)
  if (row![0] !== 'on') return
  throw new HeddleError('HDL_STORE_FAILED', {
    store: shown,
    action: 'be written',
    cause:
      'the server is read-only: use the address of the primary, and set default_transaction_read_only = off',
  })
}

/**
 * Whether this code may work on the tables: a newer server may have migrated them since.
 *
 * @throws `HDL_JOURNAL_NEWER`.
 */
export async function checkVersion(
  link: Link,
  address: PostgresAddress,
): Promise<Version | undefined> {
  const found = await readVersion(link, address)
  if (found === undefined || found.oldest <= schemaVersion) return found
  throw new HeddleError('HDL_JOURNAL_NEWER', {
    path: address.shown,
    found: found.version,
    known: schemaVersion,
  })
}

/** Makes the missing tables of roles (T1). The tables of the store are there. */
export async function declareTables(
  link: Link,
  address: PostgresAddress,
  clock: Clock,
  tables: Iterable<AnyTable>,
): Promise<void> {
  const { schema } = address
  const seen = new Set<string>()
  for (const row of await link.call<[string]>(
    'be read',
    `SELECT name || ' ' || signature FROM ${schema}.role_table`,
  )) {
    seen.add(row[0])
  }
  const missing = [...tables].filter(
    (table) => !seen.has(`${table.name} ${namesOf(table).signature}`),
  )
  if (missing.length === 0) return
  const body = missing.map(declarationOf).join('\n').replaceAll('@.', `${schema}.`)
  await makeTables(
    link,
    address,
    clock,
    `DO $do$ BEGIN ${limitLocks} LOCK TABLE ${schema}.meta IN EXCLUSIVE MODE; ${body} END $do$`,
  )
}

/** Limits the locks of the current transaction. */
const limitLocks = `PERFORM set_config('lock_timeout', '${lockWithin}', true);`

async function makeTables(
  link: Link,
  { shown }: PostgresAddress,
  clock: Clock,
  statement: string,
): Promise<void> {
  const action = 'make its tables'
  for (let attempt = 1; ; attempt++) {
    try {
      await callPatiently(link, { clock, retryFor }, action, statement, [])
      return
    } catch (error) {
      if (isRefused(error, lockTimeout)) {
        const cause = `a transaction has held a lock on them for ${retryFor / 1_000} s; wait until it has ended (a backup, for instance) and start again`
        const details = { store: shown, action, cause }
        throw new HeddleError('HDL_STORE_FAILED', details, { cause: error })
      }
      if (attempt === mostAttempts || !isRefused(error, ...collisions)) throw error
    }
  }
}

/** One statement, so one transaction: if two processes run it, the second waits, and then finds everything done. */
function migrationOf(schema: string): string {
  const steps = migrations.map(({ sql }, index) => {
    const body = sql.replaceAll('@.', `${schema}.`)
    return `IF seen < ${index + 1} THEN EXECUTE $migration$${body}$migration$; END IF;`
  })
  return `DO $do$
    DECLARE seen integer;
    BEGIN
      ${limitLocks}
      IF to_regnamespace('${schema}') IS NULL THEN CREATE SCHEMA ${schema}; END IF;
      IF to_regclass('${schema}.meta') IS NULL THEN
        -- SQL_ASCII keeps any bytes.
        IF current_setting('server_encoding') NOT IN ('UTF8', 'SQL_ASCII') THEN
          RAISE EXCEPTION 'the encoding of the database is %, which cannot hold all text. Use a database that was made with ENCODING ''UTF8'' TEMPLATE template0',
            current_setting('server_encoding');
        END IF;
        CREATE TABLE ${schema}.meta (
          only_row boolean PRIMARY KEY CHECK (only_row),
          version integer NOT NULL,
          oldest integer NOT NULL
        );
        INSERT INTO ${schema}.meta VALUES (true, 0, ${oldestVersion});
      END IF;
      LOCK TABLE ${schema}.meta IN EXCLUSIVE MODE;
      SELECT version INTO seen FROM ${schema}.meta;
      ${steps.join('\n')}
      UPDATE ${schema}.meta
        SET version = greatest(version, ${schemaVersion}), oldest = greatest(oldest, ${oldestVersion});
    END $do$`
}
