import { setImmediate as turn } from 'node:timers/promises'

/** Lets the loop turn until this holds: for changes that the server does not report. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn()
}
