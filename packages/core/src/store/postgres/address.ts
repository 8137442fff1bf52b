/**
 * Addresses of PostgreSQL: `postgres://user:password@host:port/database?schema=heddle`, as `pg` reads them.
 * `artifacts=folder:/PATH` keeps artifacts in a folder that all machines see, instead of in the database.
 */
import { HeddleError } from '../../errors.ts'
import { suggest } from '../../kernel/suggest.ts'

/**
 * Words of an address whose misspelling would silently mean something else. Words unlike all of them are for the
 * driver.
 */
const ownWords = ['schema', 'artifacts', 'sslmode', 'sslrootcert']
const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']

/** Names that stand for something else in a statement. */
const reservedWords = new Set(
  `all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation column
  concurrently constraint create cross current_catalog current_date current_role current_schema current_time
  current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze from
  full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit localtime
  localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references returning right
  select session_user similar some symmetric system_user table tablesample then to trailing true union unique user using
  variadic verbose when where window with`.split(/\s+/),
)

/** The schema that holds the tables when the address names none. */
const defaultSchema = 'heddle'

export interface PostgresAddress {
  /** The address for the driver. It may contain a password: never print it. */
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
  if (!isPostgresAddress(address) || !address.includes('://')) throw notPostgres()
  const url = parse(address)
  checkWords(url.searchParams)
  const schema = url.searchParams.get('schema') ?? defaultSchema
  if (!/^[a-z_][a-z0-9_]{0,47}$/.test(schema)) {
    throw badWord('schema', schema, 'lower-case letters, digits and underscores, at most 48')
  }
  if (reservedWords.has(schema)) throw badWord('schema', schema, 'no reserved word of SQL')
  const artifacts = folderOf(url.searchParams.get('artifacts'))
  url.searchParams.delete('schema')
  url.searchParams.delete('artifacts')
  const shown = withoutNoHost(shownOf(url, schema, artifacts))
  return { connectionString: withoutNoHost(url.href), schema, artifacts, shown }
}

/** Stands for the host of an address that has a user and no host, which a URL cannot be: a socket of the file system. */
const noHost = 'no-host.invalid'

function withoutNoHost(text: string): string {
  return text.replace(`@${noHost}/`, '@/')
}

function parse(address: string): URL {
  try {
    return new URL(address.replace(/^([a-z]+:\/\/[^/?#]*@)\//, `$1${noHost}/`))
  } catch {
    // Thrown without the cause: the error of the parser contains the whole address.
    throw notPostgres()
  }
}

function checkWords(words: URLSearchParams): void {
  for (const word of words.keys()) {
    const meant = ownWords.includes(word) ? undefined : suggest(word, ownWords)
    if (meant !== undefined) throw badWord('address', `?${word}=…`, `?${meant}=…`)
  }
  const mode = words.get('sslmode')
  if (mode !== null && !sslModes.includes(mode)) {
    throw badWord('sslmode', mode, `one of ${sslModes.join(', ')}`)
  }
}

function badWord(option: string, value: string, expected: string): HeddleError {
  return new HeddleError('HDL_BAD_OPTION', { option, value, expected })
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
  throw badWord('artifacts', text, 'folder:/PATH, from the root')
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
