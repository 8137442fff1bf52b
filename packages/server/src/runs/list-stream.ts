/**
 * Runs that begin, move and end, sent to all pages that show the list. One look a second serves them all, and there is
 * none while no page is open.
 *
 *  L1  A stream starts with a frame that holds everything; later frames hold what changed since.
 */
import type { Clock } from '@heddle/core/lowlevel'
import type { RunCounts, RunsChange, RunSummary } from '../client/contract/runs.ts'
import type { EventStream } from './event-stream.ts'

const lookEvery = 1_000
const beatEvery = 10_000

export interface ListState {
  /** The newest runs, and all runs that are not over. */
  readonly runs: readonly RunSummary[]
  readonly counts: RunCounts['counts']
}

export interface ListSource {
  readonly clock: Clock
  /** *Cancellation*: none: it reads two pages. */
  look(): Promise<ListState>
}

export class ListStream {
  readonly #source: ListSource
  #last: { readonly at: number; readonly state: Promise<ListState> } | undefined

  constructor(source: ListSource) {
    this.#source = source
  }

  /**
   * Sends frames until the stream is closed.
   *
   * *Cancellation*: by the end of the stream.
   */
  async serve(stream: EventStream): Promise<void> {
    const { clock } = this.#source
    const known = new Map<string, string>()
    let counts = ''
    let beatAt = 0
    while (!stream.isClosed) {
      const state = await this.#look()
      const runs = state.runs.filter((run) => {
        const text = JSON.stringify(run)
        if (known.get(run.id) === text) return false
        known.set(run.id, text)
        return true
      })
      const text = JSON.stringify(state.counts)
      const at = clock.wallTime()
      if (runs.length > 0 || text !== counts) {
        counts = text
        const data: RunsChange = { at, runs, removed: [], counts: state.counts }
        await stream.send({ event: 'runs', data })
        beatAt = clock.now() + beatEvery
      } else if (clock.now() >= beatAt) {
        await stream.send({ event: 'beat', data: { at } })
        beatAt = clock.now() + beatEvery
      }
      // Runs that left the newest page are forgotten, so that the map stays small.
      if (known.size > 2_000) known.clear()
      await stream.pause(lookEvery)
    }
  }

  #look(): Promise<ListState> {
    const { clock } = this.#source
    if (this.#last === undefined || clock.now() - this.#last.at >= lookEvery / 2) {
      const state = this.#source.look()
      this.#last = { at: clock.now(), state }
      state.catch(() => (this.#last = undefined))
    }
    return this.#last.state
  }
}
