import { HeddleError } from '@heddle/core'
import { hasWorkLeft, type Journal } from '@heddle/core/lowlevel'

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
  const open = (await journal.runs()).filter(hasWorkLeft)
  const picked = open.find((run) => run.title === title) ?? open[0]
  if (picked !== undefined) return picked.id
  throw new HeddleError('HDL_UNKNOWN_RUN', { run: 'unfinished', address: journal.address })
}
