/**
 * Addresses of PostgreSQL: `postgres://user:password@host:port/database?schema=heddle`, as `pg` reads them.
 * `artifacts=folder:/PATH` keeps artifacts in a folder that all machines see, instead of in the database.
 */
import { HeddleError } from '../../errors.ts'

/** The schema that holds the tables when the address names none. */
const defaultSchema = 'heddle'

export interface PostgresAddress {
  /** For the driver. It may hold a password: never print it. */
  readonly connectionString: string
  readonly schema: string
  /** The folder of artifacts, where they are not in the database. */
  readonly artifacts: string | undefined
  /** The address without its password, for messages and records. */
  readonly shown: string
}

export function isPostgresAddress(address: string): boolean {
  return /^postgres(ql)?:/.test(address)
}

/**
 * Reads an address. Parts that are absent come from the environment (`PGHOST`, `PGUSER`, `PGPASSWORD` and others), as
 * for every program that uses `pg`.
 *
 * @throws `HDL_BAD_OPTION`, without the address: it may hold a password.
 */
export function readAddress(address: string): PostgresAddress {
  if (!isPostgresAddress(address)) throw notPostgres()
  const url = parse(address)
  const schema = url.searchParams.get('schema') ?? defaultSchema
  if (!/^[a-z_][a-z0-9_]{0,47}$/.test(schema)) {
    throw new HeddleError('HDL_BAD_OPTION', {
      option: 'schema',
      value: schema,
      expected: 'lower-case letters, digits and underscores, at most 48',
    })
  }
  const artifacts = folderOf(url.searchParams.get('artifacts'))
  url.searchParams.delete('schema')
  url.searchParams.delete('artifacts')
  return { connectionString: url.href, schema, artifacts, shown: shownOf(url, schema, artifacts) }
}

function parse(address: string): URL {
  try {
    return new URL(address)
  } catch {
    // Without the cause: the error of the parser holds the whole address.
    throw notPostgres()
  }
}

function notPostgres(): HeddleError {
  return new HeddleError('HDL_BAD_OPTION', {
    option: 'address',
    value: '(left out: it may hold a password)',
    expected: 'postgres://USER:PASSWORD@HOST:PORT/DATABASE, special characters escaped as in %40',
  })
}

function folderOf(text: string | null): string | undefined {
  const [, folder] = /^folder:(\/.*)$/.exec(text ?? '') ?? []
  if (text === null || folder !== undefined) return folder
  throw new HeddleError('HDL_BAD_OPTION', {
    option: 'artifacts',
    value: text,
    expected: 'folder:/PATH, from the root',
  })
}

function shownOf(
  { username, host, pathname }: URL,
  schema: string,
  artifacts: string | undefined,
): string {
  const user = username === '' ? '' : `${username}@`
  const words = [
    ...(schema === defaultSchema ? [] : [`schema=${schema}`]),
    ...(artifacts === undefined ? [] : [`artifacts=folder:${artifacts}`]),
  ]
  const query = words.length === 0 ? '' : `?${words.join('&')}`
  return `postgres://${user}${host}${pathname}${query}`
}

/**
 * Text in which the passwords of addresses are left out, for logs, records and errors: whatever the scheme, because a
 * mistyped one has a password too.
 *
 * @example
 * withoutPasswords('run a.ts --journal postgres://me:secret@host/db') // => 'run a.ts --journal postgres://me@host/db'
 */
export function withoutPasswords(text: string): string {
  return text
    .replace(/(\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*):[^\s/]*@/gi, '$1@')
    .replace(/(\b[a-z][a-z0-9+.-]*:\/\/\S*?[?&](?:password|sslpassword)=)[^\s&]*/gi, '$1…')
}
