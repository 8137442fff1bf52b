/**
 * Journals that runs name by their address: opened by the first run, shared by all that are under way, and kept open
 * for a moment after the last one. To open a file takes 50 to 100 ms, with its threads.
 *
 * Neither a journal that is kept open nor its timer keeps the process alive; when nothing is left to do, the journals
 * are closed before it ends.
 */
import type { Journal, JournalRetry } from '../journal/journal.ts'
import { openJournal } from '../journal/open-journal.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { RenewedShared } from '../sync/renewed-shared.ts'
import type { Lease } from '../sync/shared.ts'

/** Milliseconds for which a journal is kept open after the last run. */
const linger = 1_000

/** Keyed by kernel: two clocks cannot time one journal. */
let journals = new Map<Kernel, RenewedShared<Journal>>()

/**
 * A journal by its address.
 *
 * *Cancellation*: none; it waits for the store to open.
 * @throws as openJournal().
 */
export async function useJournal(
  address: string,
  kernel: Kernel,
  retry: JournalRetry,
): Promise<Lease<string, Journal>> {
  const limits = [String(retry.for ?? ''), String(retry.every ?? '')]
  // The address may be a path from the current folder.
  const place = JSON.stringify([address, ...limits, process.cwd()])
  return journalsOf(kernel).use(place)
}

function journalsOf(kernel: Kernel): RenewedShared<Journal> {
  let shared = journals.get(kernel)
  if (shared === undefined) {
    shared = new RenewedShared<Journal>({
      open: (key) => openByKey(key, kernel),
      close: (journal) => journal.stop(),
      isFailed: (journal) => journal.stats().failed,
      linger,
      // Callers that waited for a lost row have got its error.
      onCloseError: () => undefined,
      kernel: { ...kernel, clock: inBackground(kernel.clock) },
    })
    if (journals.size === 0) process.once('beforeExit', closeAll)
    journals.set(kernel, shared)
  }
  return shared
}

function openByKey(key: string, kernel: Kernel): Promise<Journal> {
  const place = JSON.parse(key) as readonly [string, string, string]
  const [address, limit, every] = place
  const retry = {
    ...(limit !== '' && { for: Number(limit) }),
    ...(every !== '' && { every: Number(every) }),
  }
  return openJournal(address, { kernel, retry })
}

/** A clock whose timers let the process end. */
function inBackground(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    wallTime: () => clock.wallTime(),
    afterIo: (callback) => clock.afterIo(callback),
    setTimer: (delay, callback) => {
      const timer = clock.setTimer(delay, callback)
      timer.unref?.()
      return timer
    },
  }
}

function closeAll(): void {
  const open = journals
  journals = new Map()
  // oxlint-disable-next-line typescript/no-floating-promises -- the process ends: nothing can wait for it
  for (const shared of open.values()) void shared.close()
}
