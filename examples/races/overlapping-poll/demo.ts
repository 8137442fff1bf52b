import { settle, type Seen, Answers } from '../stage.ts'
import type { Change, Sync } from './race.ts'

/** Runs `work` with a setInterval that ticks on request. */
async function withHandTimer(work: (tick: () => void) => Promise<void>): Promise<void> {
  const native = globalThis.setInterval
  let callback: () => unknown = () => undefined
  globalThis.setInterval = ((given: () => unknown) => {
    callback = given
    return 0
  }) as unknown as typeof setInterval
  try {
    await work(() => void callback())
  } finally {
    globalThis.setInterval = native
  }
}

export async function demonstrate(module: {
  Sync: new (
    fetch: (after: number) => Promise<readonly Change[]>,
    store: (changes: readonly Change[]) => Promise<void>,
  ) => Pick<Sync, 'start' | 'stop'>
}): Promise<Seen> {
  const stored: number[] = []
  const disk = new Answers<void>()
  const sync = new module.Sync(
    async (after) => [{ id: 1 }, { id: 2 }].filter(({ id }) => id > after),
    async (changes) => {
      await disk.ask()
      stored.push(...changes.map(({ id }) => id))
    },
  )
  await withHandTimer(async (tick) => {
    sync.start()
    tick()
    await settle()
    // The disk takes longer than a second: the timer ticks again.
    tick()
    await settle()
    while (disk.open > 0) {
      disk.answer()
      await settle()
    }
  })
  return { happened: stored.length > 2, what: `stored ${stored.join(', ')}` }
}
