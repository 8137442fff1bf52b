import { HeddleError } from '@heddle/core'
import type { Journal, RunSummary } from '@heddle/core/lowlevel'

/** Whether there is something left to do: it was cut short, or ended without every node succeeding. */
function isOpen({ state, counts }: RunSummary): boolean {
  if (state !== 'finished') return true
  return Object.entries(counts).some(([of, count]) => of !== 'succeeded' && count > 0)
}

/**
 * The run that `--resume` means: the newest of this title with something left to do, or else the newest of
 * any title.
 *
 * *Cancellation*: none; it reads one list.
 * @throws `HDL_UNKNOWN_RUN` when there is none.
 */
export async function pickRun(
  journal: Pick<Journal, 'runs' | 'address'>,
  title: string,
): Promise<string> {
  const open = (await journal.runs()).filter(isOpen)
  const picked = open.find((run) => run.title === title) ?? open[0]
  if (picked !== undefined) return picked.id
  throw new HeddleError('HDL_UNKNOWN_RUN', { run: 'unfinished', address: journal.address })
}
