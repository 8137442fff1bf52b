import type { InputRecord, Journal, NodeSnapshot } from '../journal/journal.ts'

/**
 * The input of the last attempt of a node, as far as it was recorded.
 *
 * *Cancellation*: none; it reads one row.
 * @throws `HDL_UNKNOWN_RUN`, `HDL_JOURNAL_DAMAGED`.
 */
export async function readInput(
  journal: Pick<Journal, 'history'>,
  run: string,
  { inputAt }: Pick<NodeSnapshot, 'inputAt'>,
): Promise<InputRecord | undefined> {
  if (inputAt === undefined) return undefined
  for await (const row of journal.history(run, { from: inputAt - 1 })) {
    return row.position === inputAt && row.kind === 'node' ? row.input : undefined
  }
  return undefined
}
