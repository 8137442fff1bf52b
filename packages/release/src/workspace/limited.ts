import { cancelled } from '@heddle/core/lowlevel'

/** How many files are read at the same time: enough to hide the disk, few enough for any limit of open files. */
export const readsAtOnce = 16

/** How many packages a registry is asked about at the same time. */
export const questionsAtOnce = 8

/**
 * Applies `work` to each item, at most `limit` at a time. Results are in the order of the items.
 *
 * *Cancellation*: no new item is started; those under way end first.
 * *Fairness*: items are started in their order.
 */
export async function mapLimited<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, index: number) => Promise<R>,
  signal?: AbortSignal,
): Promise<R[]> {
  const results: R[] = Array.from({ length: items.length })
  let next = 0
  let hasFailed = false
  const worker = async (): Promise<void> => {
    while (next < items.length && !hasFailed) {
      if (signal?.aborted) throw cancelled('Reading', signal.reason)
      const index = next++
      try {
        results[index] = await work(items[index]!, index)
      } catch (error) {
        hasFailed = true
        throw error
      }
    }
  }
  const workers = Array.from({ length: Math.min(limit, items.length) }, worker)
  const failed = (await Promise.allSettled(workers)).find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
  return results
}
