/**
 * Whether a job waits for the promise of a step: directly, or for a promise that was made from it.
 *
 *   nothing listens ──▶ attended (the job may still begin to)
 *   awaited, then(), Promise.all ──▶ attended
 *   Promise.race, Promise.any ──another one of them has settled──▶ not attended ──listened to again──▶ attended
 *
 * `Promise.race` and `Promise.any` hand one resolving function to all their promises, and `Promise.all` one rejecting
 * function. When a promise settles through such a function, the others no longer have an effect. A function that the
 * user has written may be shared for other reasons, so only resolving functions of promises count: they are native and
 * have no name.
 */

/** One resolving function that several promises were given. */
class Race {
  isDecided = false
}

/** The resolving functions that promises of one attempt were given. */
export class Races {
  readonly #races = new WeakMap<object, Race>()

  find(callback: unknown): Race | undefined {
    if (typeof callback !== 'function' || !isResolving(callback)) return undefined
    let race = this.#races.get(callback)
    if (race === undefined) this.#races.set(callback, (race = new Race()))
    return race
  }
}

function isResolving(callback: object & { readonly name?: unknown }): boolean {
  if (callback.name !== '') return false
  return /^function \(\) \{\s*\[native code\]\s*\}$/.test(
    Function.prototype.toString.call(callback),
  )
}

export type Settlement = 'fulfilled' | 'rejected'

interface Listener extends Readonly<Record<Settlement, Race | undefined>> {
  /** The attendance that `then` returned. */
  readonly made: Attendance
}

function isDecided({ fulfilled, rejected }: Listener): boolean {
  return fulfilled?.isDecided === true || rejected?.isDecided === true
}

export class Attendance {
  readonly #races: Races
  readonly #onListened: () => void
  /** `await` reads the constructor; so do the combinators of promises, which call `then` afterwards. */
  #awaits = 0
  #listeners: Listener[] = []

  constructor(races: Races, onListened: () => void) {
    this.#races = races
    this.#onListened = onListened
  }

  onAwait(): void {
    this.#awaits++
    this.#onListened()
  }

  /** Returns the attendance of what `then` returns. */
  onThen(onFulfilled: unknown, onRejected: unknown): Attendance {
    if (this.#awaits > 0) this.#awaits--
    const made = new Attendance(this.#races, this.#onListened)
    const fulfilled = this.#races.find(onFulfilled)
    const rejected = this.#races.find(onRejected)
    // A wait may be raced again and again.
    this.#listeners = this.#listeners.filter((listener) => !isDecided(listener))
    this.#listeners.push({ fulfilled, rejected, made })
    this.#onListened()
    return made
  }

  settle(how: Settlement): void {
    for (const { [how]: race } of this.#listeners) if (race !== undefined) race.isDecided = true
  }

  get isAttended(): boolean {
    if (this.#awaits > 0 || this.#listeners.length === 0) return true
    return this.#listeners.some((each) => !isDecided(each) && each.made.isAttended)
  }

  /** Whether nothing but a combinator of promises listens. */
  get isRaced(): boolean {
    if (this.#awaits > 0 || this.#listeners.length === 0) return false
    return this.#listeners.every(
      (each) => (each.fulfilled ?? each.rejected) !== undefined || each.made.isRaced,
    )
  }
}
