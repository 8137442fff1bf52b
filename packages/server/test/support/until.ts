import { setImmediate as turn } from 'node:timers/promises'

/** Lets the loop turn until this holds: for what the server tells nobody about. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn()
}
