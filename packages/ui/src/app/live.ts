/**
 * Whether this tab follows what happens. One stream is open at a time: the one of the view that is shown.
 *
 *     off ── follow() ──▶ connecting ──▶ open ◀──▶ lost        the client connects again, or this after a pause
 *                             ▲           │
 *                             │           ├── the server has ended the stream ──▶ ended
 *                             └─ resume() ┴── pause(), tab hidden ──▶ paused
 *
 * Invariants, quoted by the tests:
 *  L1  At most one stream is open in a tab.
 *  L2  A stream is opened after the last position that the view has taken in: nothing is missed.
 *  L3  While paused, no stream is open.
 *  L4  A stream that has ended is not opened again, unless it is followed again. A stream that was refused for good
 *      counts as off.
 *  L5  A stream that fails temporarily is followed again after a pause, which doubles up to a limit.
 */
import { signal, type ReadonlySignal } from '@preact/signals'
import type { Clock } from '../kernel/clock.ts'

export type LiveState = 'off' | 'connecting' | 'open' | 'lost' | 'paused' | 'ended'

export interface Connection {
  /** Ends the stream. */
  readonly signal: AbortSignal
  /** To be called when the connection is there, and when it is lost. */
  readonly onState: (state: 'open' | 'lost') => void
  /** To be called for everything that comes. */
  readonly onEvent: () => void
}

/** What a view follows. It resolves when the server has ended the stream, and rejects when it could not be read. */
export type Followed = (connection: Connection) => Promise<void>

/** Milliseconds before what failed is followed again: at first, and at most. */
const firstPause = 1_000
const longestPause = 15_000

export class Live {
  readonly #clock: Clock
  readonly #isFinal: (error: unknown) => boolean
  readonly #state = signal<LiveState>('off')
  readonly #lastEventAt = signal<number | undefined>(undefined)
  #followed: Followed | undefined
  #abort: AbortController | undefined
  #isPausedByHand = false
  #isHidden = false
  #pause = firstPause
  #cancelRetry: (() => void) | undefined

  /** `isFinal`: whether trying once more after this error is of no use. */
  constructor(clock: Clock, isFinal: (error: unknown) => boolean) {
    this.#clock = clock
    this.#isFinal = isFinal
  }

  get state(): ReadonlySignal<LiveState> {
    return this.#state
  }

  /** When something last came from the server. */
  get lastEventAt(): ReadonlySignal<number | undefined> {
    return this.#lastEventAt
  }

  /** Follows a view instead of the one before; the returned function ends it. */
  follow(followed: Followed): () => void {
    this.#close()
    this.#followed = followed
    this.#state.value = 'off'
    this.#pause = firstPause
    this.#update()
    return () => {
      if (this.#followed !== followed) return
      this.#followed = undefined
      this.#close()
      this.#state.value = 'off'
    }
  }

  pause(): void {
    this.#isPausedByHand = true
    this.#update()
  }

  resume(): void {
    this.#isPausedByHand = false
    this.#update()
  }

  /** A hidden tab follows nothing; when it is shown again it catches up. */
  setHidden(isHidden: boolean): void {
    this.#isHidden = isHidden
    this.#update()
  }

  #update(): void {
    if (this.#followed === undefined || this.#state.value === 'ended') return
    if (this.#isPausedByHand || this.#isHidden) {
      this.#close()
      this.#state.value = 'paused'
    } else if (this.#abort === undefined) {
      this.#connect(this.#followed)
    }
  }

  #connect(followed: Followed): void {
    const abort = new AbortController()
    // heddle-ignore H202 -- unlessClosed() looks whether a newer one has taken its place
    this.#abort = abort
    this.#state.value = 'connecting'
    const unlessClosed = (action: () => void) => (): void => {
      if (this.#abort === abort) action()
    }
    followed({
      signal: abort.signal,
      onState: (state) => unlessClosed(() => (this.#state.value = state))(),
      onEvent: unlessClosed(() => {
        this.#state.value = 'open'
        this.#pause = firstPause
        this.#lastEventAt.value = this.#clock.wallTime()
      }),
    }).then(
      unlessClosed(() => {
        this.#abort = undefined
        this.#state.value = 'ended'
      }),
      (error: unknown) => unlessClosed(() => this.#fail(error))(),
    )
  }

  #fail(error: unknown): void {
    if (this.#isFinal(error)) {
      this.#followed = undefined
      this.#close()
      this.#state.value = 'off'
      return
    }
    this.#state.value = 'lost'
    this.#cancelRetry = this.#clock.setTimer(this.#pause, () => {
      this.#close()
      this.#update()
    })
    this.#pause = Math.min(longestPause, 2 * this.#pause)
  }

  #close(): void {
    this.#cancelRetry?.()
    this.#cancelRetry = undefined
    this.#abort?.abort()
    this.#abort = undefined
  }
}
