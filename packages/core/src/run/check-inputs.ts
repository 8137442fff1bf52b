import type { Clock } from '../kernel/clock.ts'
import { validateInput } from '../graph/schema.ts'
import { isThenable } from '../kernel/call.ts'
import { Slices } from '../kernel/slices.ts'
import { waitFor } from '../kernel/wait-for.ts'
import { ownLimits } from './node-limits.ts'
import type { PlacedNode } from './placed.ts'

/**
 * Checks inputs that are known before anything starts.
 *
 * *Cancellation*: aborting `signal` ends the wait for a schema; what is left is not checked, because nothing will start.
 * @throws `HDL_WRONG_INPUT`, `HDL_SCHEMA_FAILED`; `HDL_TIMEOUT` for a schema that takes longer than an attempt of its node may.
 */
export async function checkInputs(
  placed: Iterable<PlacedNode>,
  clock: Clock,
  timeout: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const slices = new Slices(clock)
  for (const { name, node } of placed) {
    if (slices.due) await slices.next()
    if (node.job.input === undefined || typeof node.input === 'function') continue
    const checked = validateInput(name, node.job.input, node.input)
    if (!isThenable(checked)) continue
    const deadline = ownLimits(node).timeout ?? timeout
    const what = `The schema for the input of "${name}"`
    try {
      await waitFor(Promise.resolve(checked), what, clock, { signal, deadline })
    } catch (error) {
      if (signal?.aborted === true) return
      throw error
    }
  }
}
