import { systemKernel, type Kernel } from '../../kernel/kernel.ts'
import { readAddress } from './address.ts'
import { Link } from './database-link.ts'
import { readVersion } from './migrate.ts'
import { schemaVersion } from './schema.ts'

/** The facts about a PostgreSQL that a store needs before it is used. */
export interface PostgresReport {
  /** The address without its password. */
  readonly address: string
  /** The version text of the server: `15.14 (Debian …)`. */
  readonly version: string
  /** Whether the version is 15 or newer. */
  readonly isSupported: boolean
  /** The version of the tables; undefined when there are none. */
  readonly tables: number | undefined
  /** The version that this code makes. */
  readonly known: number
  /** Whether the tables are of a version that this code cannot work on (C11). */
  readonly isTooOld: boolean
  /** Whether this user can make the tables, or owns them: each week of runs has tables of its own. */
  readonly mayMigrate: boolean
  /** Whether this user can write the tables that are there. */
  readonly mayWrite: boolean
  /** Whether it refuses every change: a replica, or `default_transaction_read_only = on`. */
  readonly isReadOnly: boolean
  /** Encoding of text in this database: `UTF8`. */
  readonly encoding: string
  readonly transport: PostgresTransport
  /** Whether another program is between: one whose clients keep a connection, or one that shares them between transactions. */
  readonly pooler: 'none' | 'session' | 'transaction'
  readonly connections: PostgresConnections
  /** Milliseconds by which the clock of the server is ahead of this machine's. */
  readonly clockDifference: number
  /** Settings under which committed data may be lost: `fsync = off`. */
  readonly risks: readonly string[]
}

/** How the bytes get there. */
interface PostgresTransport {
  /** `TLSv1.3`; undefined when they are sent in clear. */
  readonly tls: string | undefined
  /** Whether the certificate of the server was checked. */
  readonly isVerified: boolean
  /** Whether they do not leave this machine. */
  readonly isLocal: boolean
}

interface PostgresConnections {
  /** The connections that this user can have, as the server is set up. */
  readonly most: number
  readonly used: number
  /** The connections that one server of ours uses at most. */
  readonly needed: number
}

/**
 * Connections of one server: those of its shards (postgres-database.ts), of its journal with its artifacts (postgres-journal.ts), and one
 * for its people, schedules and workers.
 */
const connectionsOfServer = 3 + 5 + 1

const statement = `SELECT
  current_setting('server_version'),
  current_setting('server_version_num')::integer,
  extract(epoch FROM clock_timestamp())::float8 * 1000,
  CASE WHEN to_regnamespace($1) IS NULL
    THEN has_database_privilege(current_database(), 'CREATE')
    ELSE has_schema_privilege($1, 'CREATE') AND coalesce((
      SELECT bool_and(pg_has_role(relowner, 'USAGE')) FROM pg_class
      WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p')), true) END,
  coalesce((
    SELECT bool_and(has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
      AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE')) FROM pg_class
    WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p') AND NOT relispartition), true),
  least(
    current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
      - coalesce(current_setting('reserved_connections', true), '0')::integer,
    (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
    (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())),
  (SELECT sum(numbackends)::integer FROM pg_stat_database),
  current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
  current_setting('synchronous_standby_names'),
  current_setting('transaction_read_only') = 'on', current_setting('server_encoding')`

type Row = [
  version: string,
  number: number,
  time: number,
  mayMigrate: boolean,
  mayWrite: boolean,
  most: number,
  used: number,
  fsync: string,
  fullPages: string,
  commit: string,
  standbys: string,
  isReadOnly: boolean,
  encoding: string,
]

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
  let client: Connected | undefined
  const link = new Link({
    address: read,
    clock,
    answerWithin,
    prepare: async (made) => void (client = made as unknown as Connected),
  })
  const second = new Link({ address: read, clock, answerWithin })
  try {
    const tables = await readVersion(link, read)
    const sentAt = clock.wallTime()
    const [row] = await link.call<Row>('be examined', statement, [read.schema])
    const [version, number, serverTime, mayMigrate, mayWrite, most, used] = row!
    const [isReadOnly, encoding] = row!.slice(-2) as [boolean, string]
    // The server read its clock somewhere between sending and the answer.
    const clockDifference = serverTime - (sentAt + clock.wallTime()) / 2
    return {
      address: read.shown,
      version,
      isSupported: number >= 150_000,
      tables: tables?.version,
      known: schemaVersion,
      isTooOld: tables !== undefined && tables.oldest > schemaVersion,
      mayMigrate,
      mayWrite,
      isReadOnly,
      encoding,
      transport: transportOf(client!),
      pooler: await findPooler(client!.processID, link, second),
      connections: { most, used, needed: connectionsOfServer },
      clockDifference: Math.round(clockDifference),
      risks: risksOf(row!),
    }
  } finally {
    await Promise.all([link.close(), second.close()])
  }
}

/** What `pg` knows of its connection. */
interface Connected {
  /** Id of the server process, which it sends at the start; needed for cancels. */
  readonly processID: number
  readonly connection: {
    readonly stream: {
      readonly remoteAddress?: string
      readonly authorized?: boolean
      getProtocol?(): string | null
    }
  }
}

function transportOf({ connection: { stream } }: Connected): PostgresTransport {
  const { remoteAddress } = stream
  return {
    tls: stream.getProtocol?.() ?? undefined,
    isVerified: stream.authorized === true,
    // A socket of the file system has no address.
    isLocal: remoteAddress === undefined || /^(127\.|::1$|::ffff:127\.)/.test(remoteAddress),
  }
}

/** Calls after which a connection that was never shared is taken for one that is not. */
const looks = 5

/**
 * A pooler names a process of its own when a client connects. One in transaction mode gives a connection that was just
 * used to the next client that asks.
 */
async function findPooler(
  named: number,
  link: Link,
  second: Link,
): Promise<PostgresReport['pooler']> {
  const processOf = async (of: Link): Promise<number> => {
    const [row] = await of.call<[number]>('be examined', 'SELECT pg_backend_pid()')
    return row![0]
  }
  const first = await processOf(link)
  if (first === named) return 'none'
  for (let look = 0; look < looks; look++) {
    const other = await processOf(second)
    const again = await processOf(link)
    if (other === first || again !== first) return 'transaction'
  }
  return 'session'
}

function risksOf([, , , , , , , fsync, fullPages, commit, standbys]: Row): string[] {
  // `synchronous_commit = off` is not one: the transactions that acknowledge turn it on for themselves.
  return [
    ...(fsync === 'off' ? ['fsync = off'] : []),
    ...(fullPages === 'off' ? ['full_page_writes = off'] : []),
    ...(standbys !== '' && commit === 'local' ? ['synchronous_commit = local, with standbys'] : []),
  ]
}
