/** The checks of `heddle doctor --store postgres://…`. Nothing is changed in the database. */
import { isError } from '@heddle/core'
import { examinePostgres, type PostgresReport } from '@heddle/core/lowlevel'
import { formatError } from '../text/format.ts'
import type { Check } from './check.ts'

/** Milliseconds. Leases go by the clock of the server alone; times in the journal are those of this machine. */
const mostClockDifference = 5_000

export async function checkPostgres(address: string): Promise<Check[]> {
  try {
    return checksOf(await examinePostgres(address))
  } catch (error) {
    const help = isError(error, 'HDL_BAD_OPTION')
      ? 'Correct the address: no server was asked.'
      : 'Check the address, PGHOST, PGUSER, PGPASSWORD and ~/.pgpass, and whether the server is up.'
    return [{ name: 'postgres', ok: false, found: formatError(error), help }]
  }
}

/** One check for each property, in the order in which they are repaired. */
export function checksOf(report: PostgresReport): Check[] {
  return [
    check('postgres', report.isSupported, `${report.version} at ${report.address}`, [
      'Use PostgreSQL 15 or newer.',
    ]),
    checkTransport(report),
    checkPooler(report),
    checkConnections(report),
    checkRights(report),
    checkEncoding(report),
    checkClock(report),
    checkDurability(report),
  ]
}

function check(name: string, ok: boolean, found: string, help: readonly string[]): Check {
  return { name, ok, found, ...(!ok && { help: help.join(' ') }) }
}

function checkTransport({ transport: { tls, isVerified, isLocal } }: PostgresReport): Check {
  const where = isLocal ? 'on this machine' : 'over the network'
  if (tls === undefined) {
    const help =
      'Passwords and data can be read on the way: add ?sslmode=verify-full to the address.'
    return check('tls', isLocal, `none, ${where}`, [help])
  }
  const certificate = isVerified ? 'the certificate was checked' : 'the certificate was not checked'
  const help =
    'Another machine can pretend to be the server: use sslmode=verify-full and sslrootcert.'
  return check('tls', isVerified || isLocal, `${tls}, ${where}; ${certificate}`, [help])
}

/** Nothing to repair: no call depends on its connection. */
function checkPooler({ pooler }: PostgresReport): Check {
  const found = {
    none: 'none: connected to PostgreSQL itself',
    session: 'in session mode: each connection of ours keeps one of PostgreSQL',
    transaction:
      'in transaction mode: signals and cancels of other processes are read once a second, because LISTEN does not work',
  }[pooler]
  return check('pooler', true, found, [])
}

function checkConnections({ connections, pooler }: PostgresReport): Check {
  const { most, used, needed } = connections
  const free = Math.max(0, most - used)
  const found = `${free} of ${most} free; one server of ours uses at most ${needed}`
  const help = [
    `Raise max_connections (or the limit of the user or the database) to ${used + needed} or more,`,
    'or end connections that are idle.',
  ]
  return check('connections', pooler === 'transaction' || free >= needed, found, help)
}

function checkRights(report: PostgresReport): Check {
  const { tables, known, isTooOld, mayMigrate, mayWrite, isReadOnly } = report
  const made =
    tables === undefined ? 'no tables yet' : `tables of version ${tables}, this is ${known}`
  if (isTooOld) {
    return check('rights', false, `${made}, which is too old for them`, [
      'Update Heddle: a newer one has migrated the tables.',
    ])
  }
  if (isReadOnly) {
    return check('rights', false, `${made}; the server is read-only`, [
      'Use the address of the primary, and set default_transaction_read_only = off.',
    ])
  }
  if (tables !== undefined && !(mayWrite && mayMigrate)) {
    const missing = mayWrite ? 'make more of them, and each week of runs has its own' : 'write them'
    const help = 'Make this user the owner of the schema and its tables, or a member of the owner.'
    return check('rights', false, `${made}; this user may not ${missing}`, [help])
  }
  const may = `this user may ${mayMigrate ? '' : 'not '}make them`
  return check('rights', mayMigrate, `${made}; ${may}`, [
    'CREATE SCHEMA heddle AUTHORIZATION the user of the address.',
  ])
}

function checkEncoding({ encoding }: PostgresReport): Check {
  // SQL_ASCII keeps any bytes.
  const ok = encoding === 'UTF8' || encoding === 'SQL_ASCII'
  return check('encoding', ok, encoding, [
    "It cannot hold all text: use a database that was made with ENCODING 'UTF8' TEMPLATE template0.",
  ])
}

function checkClock({ clockDifference }: PostgresReport): Check {
  const difference = Math.abs(clockDifference)
  const found = `${difference} ms ${clockDifference < 0 ? 'behind' : 'ahead of'} this machine`
  return check('clock', difference <= mostClockDifference, found, [
    'Set both clocks by NTP: times in the journal are those of the machine that runs.',
  ])
}

function checkDurability({ risks }: PostgresReport): Check {
  const found = risks.length === 0 ? 'committed data is on the disk' : risks.join(', ')
  const help = 'Acknowledged data can be lost at a power cut or a fail-over: set them to on.'
  return check('durability', risks.length === 0, found, [help])
}
