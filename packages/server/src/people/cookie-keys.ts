/**
 * The keys that the cookies of sessions are signed with.
 *
 *   current ── rotate ─▶ earlier ── 400 days, or a rotation that ends all sessions ─▶ gone
 *
 *  K1  New cookies are signed with the current key. A cookie of an earlier key is still read, and gets a signature of
 *      the current one when its session is asked for.
 *  K2  A server reads the keys in the store at most a second after its last read: a rotation counts on all servers
 *      within two seconds.
 *  K3  A rotation is one change of the store; if two come at the same moment, both count, one after the other.
 */
import { write, type Clock, type Stored, type Tables } from '@heddle/core/lowlevel'
import { newSecret, readSigned, sign } from './secrets.ts'
import { settings, type SettingRecord } from './people-tables.ts'

const currentId = 'cookie key'
const earlierId = 'earlier cookie keys'

/** Milliseconds between two reads of the store. */
const lookEvery = 1_000

interface EarlierKey {
  readonly key: string
  /** Wall time from which on no session can be that old. */
  readonly until: number
}

interface Keys {
  readonly current: string
  readonly earlier: readonly EarlierKey[]
}

interface Rows {
  readonly current: Stored<SettingRecord> | undefined
  readonly earlier: Stored<SettingRecord> | undefined
}

/** What a cookie holds. */
export interface ReadCookie {
  readonly secret: string
  /** Whether it needs a new signature. */
  readonly isOfEarlierKey: boolean
}

export class CookieKeys {
  readonly #tables: Tables
  readonly #clock: Clock
  readonly #sessionAge: number
  #known: { readonly at: number; readonly keys: Promise<Keys> } | undefined

  /** @param sessionAge Milliseconds that the oldest session lives. */
  constructor(tables: Tables, clock: Clock, sessionAge: number) {
    this.#tables = tables
    this.#clock = clock
    this.#sessionAge = sessionAge
  }

  /** Makes the first key if there is none. *Cancellation*: none. */
  async start(): Promise<void> {
    await this.#look()
  }

  /** *Cancellation*: none. */
  async sign(secret: string): Promise<string> {
    return sign(secret, (await this.#look()).current)
  }

  /** Undefined for a cookie that is not ours. *Cancellation*: none. */
  async read(cookie: string): Promise<ReadCookie | undefined> {
    const { current, earlier } = await this.#look()
    const secret = readSigned(cookie, current)
    if (secret !== undefined) return { secret, isOfEarlierKey: false }
    const now = this.#clock.wallTime()
    for (const { key, until } of earlier) {
      const found = until > now ? readSigned(cookie, key) : undefined
      if (found !== undefined) return { secret: found, isOfEarlierKey: true }
    }
    return undefined
  }

  /** *Cancellation*: none. @param isEarlierKept Whether cookies of earlier keys are read from now on. */
  async rotate(isEarlierKept: boolean): Promise<void> {
    const rows = await this.#read()
    const now = this.#clock.wallTime()
    const before = rows.current && { key: rows.current.value, until: now + this.#sessionAge }
    const kept = [...(before === undefined ? [] : [before]), ...earlierOf(rows)]
    const earlier = isEarlierKept ? kept.filter(({ until }) => until > now) : []
    const refused = await this.#tables.change([
      write(settings, { id: currentId, value: newSecret() }, rows.current?.revision ?? 'absent'),
      write(
        settings,
        { id: earlierId, value: JSON.stringify(earlier) },
        rows.earlier?.revision ?? 'absent',
      ),
    ])
    if (refused !== undefined) return this.rotate(isEarlierKept)
    this.#known = undefined
  }

  /** K2. */
  #look(): Promise<Keys> {
    const at = this.#clock.now()
    if (this.#known === undefined || at - this.#known.at >= lookEvery) {
      const keys = this.#readOrMake()
      this.#known = { at, keys }
      keys.catch(() => (this.#known = undefined))
    }
    return this.#known.keys
  }

  async #readOrMake(): Promise<Keys> {
    const rows = await this.#read()
    if (rows.current !== undefined) return { current: rows.current.value, earlier: earlierOf(rows) }
    // When it is refused, another server was faster.
    await this.#tables.change([write(settings, { id: currentId, value: newSecret() }, 'absent')])
    return this.#readOrMake()
  }

  async #read(): Promise<Rows> {
    const [current, earlier] = await this.#tables.byIds(settings, [currentId, earlierId])
    return { current, earlier }
  }
}

function earlierOf({ earlier }: Rows): readonly EarlierKey[] {
  return earlier === undefined ? [] : (JSON.parse(earlier.value) as EarlierKey[])
}
