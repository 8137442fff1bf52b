import { systemKernel, type Kernel } from '../../kernel/kernel.ts'
import { readAddress } from './address.ts'
import { Link } from './link.ts'
import { readVersion } from './migrate.ts'
import { schemaVersion } from './schema.ts'

/** What a store needs to know of a PostgreSQL before it is used. */
export interface PostgresReport {
  /** The address without its password. */
  readonly address: string
  /** As the server writes it: `15.14 (Debian …)`. */
  readonly version: string
  /** Whether the version is 15 or newer. */
  readonly isSupported: boolean
  /** The version of the tables; undefined when there are none. */
  readonly tables: number | undefined
  /** The version that this code makes. */
  readonly known: number
  /** Whether this user can make the tables, or owns them. */
  readonly mayMigrate: boolean
  /** Milliseconds by which the clock of the server is ahead of this machine's. */
  readonly clockDifference: number
  /** Settings under which what was committed may be lost with power: `fsync = off`. */
  readonly risks: readonly string[]
}

const statement = `SELECT
  current_setting('server_version'),
  current_setting('server_version_num')::integer,
  extract(epoch FROM clock_timestamp())::float8 * 1000,
  CASE WHEN to_regnamespace($1) IS NULL
    THEN has_database_privilege(current_database(), 'CREATE')
    ELSE has_schema_privilege($1, 'CREATE') END,
  current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit')`

type Row = [string, number, number, boolean, string, string, string]

/** Milliseconds to wait for an answer. */
const answerWithin = 5_000

/**
 * Looks at a PostgreSQL without changing anything in it.
 *
 * *Cancellation*: none; it ends when the server does not answer in time.
 * @throws `HDL_STORE_FAILED`, `HDL_NO_DRIVER`, `HDL_BAD_OPTION`.
 */
export async function examinePostgres(
  address: string,
  kernel: Kernel = systemKernel,
): Promise<PostgresReport> {
  const { clock } = kernel
  const read = readAddress(address)
  const link = new Link({ address: read, clock, answerWithin })
  try {
    const tables = await readVersion(link, read)
    const sentAt = clock.wallTime()
    const [row] = await link.call<Row>('be examined', statement, [read.schema])
    const [version, number, serverTime, mayMigrate, fsync, fullPages, commit] = row!
    // The server read its clock somewhere between sending and the answer.
    const clockDifference = serverTime - (sentAt + clock.wallTime()) / 2
    const risks = [
      ...(fsync === 'off' ? ['fsync = off'] : []),
      ...(fullPages === 'off' ? ['full_page_writes = off'] : []),
      ...(commit === 'off' ? ['synchronous_commit = off'] : []),
    ]
    return {
      address: read.shown,
      version,
      isSupported: number >= 150_000,
      tables: tables?.version,
      known: schemaVersion,
      mayMigrate,
      clockDifference: Math.round(clockDifference),
      risks,
    }
  } finally {
    await link.close()
  }
}
