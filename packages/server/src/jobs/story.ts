/**
 * What happened to the stages of a work, as rows of the journal.
 *
 * Work begins before it is acknowledged, and may be acknowledged after minutes. The rows are kept here meanwhile,
 * so that the journal has the whole history of acknowledged work. They are bounded: of a work that logs without end
 * the oldest rows are dropped, and the journal says how many.
 */
import type { Transition } from '@heddle/core/lowlevel'
import type { StageName } from './ledger.ts'

export type StageRow =
  | (Omit<Transition, 'node' | 'error'> & {
      readonly kind: 'node'
      readonly node: StageName
      readonly error?: unknown
    })
  | {
      readonly kind: 'log'
      readonly node: StageName
      readonly attempt: number
      readonly at: number
      readonly text: string
    }

const mostRows = 1_000

export class Story {
  readonly #rows: StageRow[] = []
  #dropped = 0

  add(row: StageRow): void {
    if (this.#rows.length >= mostRows) {
      this.#rows.shift()
      this.#dropped++
    }
    this.#rows.push(row)
  }

  /** A copy, oldest first. */
  rows(): readonly StageRow[] {
    const [first] = this.#rows
    if (this.#dropped === 0 || first === undefined) return [...this.#rows]
    const text = `${this.#dropped} earlier rows were dropped: the work was not acknowledged yet.`
    const { node, attempt, at } = first
    return [{ kind: 'log', node, attempt, at, text }, ...this.#rows]
  }
}
