import { HeddleError, isError, type WrongInput } from '../errors.ts'
import { namedIssues, validateInput } from '../graph/input-schema.ts'
import { isThenable } from '../kernel/call.ts'
import type { Clock } from '../kernel/clock.ts'
import { Slices } from '../kernel/slices.ts'
import { waitFor } from '../kernel/wait-for.ts'
import { ownLimits } from './node-limits.ts'
import type { PlacedNode } from './placed.ts'

/**
 * Checks inputs that are known before anything starts: all of them, so that one error names every wrong input.
 *
 * *Cancellation*: aborting `signal` ends the wait for a schema; the rest is not checked, because nothing will start.
 * @throws `HDL_WRONG_INPUT`, `HDL_SCHEMA_FAILED`; `HDL_TIMEOUT` for a schema that takes longer than an attempt of its
 * node may.
 */
export async function checkInputs(
  placed: Iterable<PlacedNode>,
  clock: Clock,
  timeout: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const slices = new Slices(clock)
  const wrong = new WrongInputs()
  for (const { name, node } of placed) {
    if (slices.due) await slices.next()
    if (node.job.input === undefined || typeof node.input === 'function') continue
    try {
      const checked = validateInput(name, node.job.input, node.input)
      if (!isThenable(checked)) continue
      const deadline = ownLimits(node).timeout ?? timeout
      const what = `The schema for the input of "${name}"`
      await waitFor(Promise.resolve(checked), what, clock, { signal, deadline })
    } catch (error) {
      if (isError(error, 'HDL_WRONG_INPUT')) wrong.add(error.details)
      else if (signal?.aborted === true) break
      else throw error
    }
  }
  wrong.throwIfAny()
}

/** Wrong inputs; one error names this many fields, and the rest is counted. */
class WrongInputs {
  readonly #named: WrongInput[] = []
  /** Fields that may still be named. */
  #room = namedIssues
  #unnamed = 0
  #nodes = 0

  add({ node, issues, more = 0 }: WrongInput): void {
    this.#nodes++
    const named = issues.slice(0, this.#room)
    this.#room -= named.length
    const left = more + issues.length - named.length
    if (named.length === 0) this.#unnamed += left
    else this.#named.push({ node, issues: named, ...(left > 0 && { more: left }) })
  }

  /** @throws `HDL_WRONG_INPUT`. */
  throwIfAny(): void {
    const [first, ...others] = this.#named
    if (first === undefined) return
    const unnamed = this.#nodes - this.#named.length
    throw new HeddleError('HDL_WRONG_INPUT', {
      ...first,
      ...(this.#nodes > 1 && { others }),
      ...(unnamed > 0 && { unnamed: { nodes: unnamed, fields: this.#unnamed } }),
    })
  }
}
