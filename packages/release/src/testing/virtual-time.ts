import type { VirtualClock } from '@heddle/core/testing'

export interface VirtualTimeOptions {
  /** Whether anything real is on its way, as `proxy.active > 0` says: time stands still meanwhile. */
  readonly busy: () => boolean
  /** Milliseconds by which time moves on otherwise. Default 50. */
  readonly step?: number
}

/**
 * Runs `work` in virtual time while real servers answer its requests.
 *
 * Requests take real time and waits take virtual time, so the clock may move only while nothing real
 * is on its way: else a limit of 30 s would be over before a server on this machine could answer.
 *
 * *Cancellation*: none; it ends with `work`.
 * @example
 * const clock = new VirtualClock()
 * const kernel = { clock, random: seededRandom(1) }
 * await using proxy = await startFaultProxy({ target, kernel, visibleAfter: 900_000 })
 * await using registry = npmRegistry({ url: proxy.url, kernel })
 * await runInVirtualTime(clock, waitVisible(registry, packed, { kernel }), { busy: () => proxy.active > 0 })
 */
export async function runInVirtualTime<T>(
  clock: VirtualClock,
  work: Promise<T>,
  { busy, step = 50 }: VirtualTimeOptions,
): Promise<T> {
  let settled = false
  const mark = (): void => {
    settled = true
  }
  work.then(mark, mark)
  while (!settled) {
    // Four turns of the real loop: time for sent data to arrive.
    await clock.settle()
    if (!busy() && clock.pending > 0) await clock.advance(step)
  }
  return work
}
