import type { Contender, Entrant, Row } from '../../harness/row.ts'
import type { PlayBounded } from './contract.ts'

function boundedContender(play: PlayBounded): Contender {
  return {
    prepare(size) {
      const items = Array.from({ length: size }, (_, index) => index)
      return async () => {
        let done = 0
        // oxlint-disable-next-line require-await -- a no-op async task is what the row is about
        await play(items, async () => {
          done++
        })
        if (done !== size) throw new Error(`ran ${done} tasks of ${size}`)
      }
    },
  }
}

const entrant = (
  role: Entrant['role'],
  play: () => Promise<PlayBounded>,
  children = 3,
): Entrant => ({
  role,
  children,
  load: async () => boundedContender(await play()),
})

export const row: Row = {
  name: 'bounded 1M',
  measure: 'rate',
  unit: 'tasks/s',
  size: 1_000_000,
  quickSize: 10_000,
  warmUps: 2,
  warmUpSize: 50_000,
  rounds: 1,
  children: 3,
  entrants: {
    heddle: entrant('ours', async () => (await import('../../ours/scheduler.ts')).bounded),
    'heddle queue': entrant('variant', async () => (await import('../../ours/queue.ts')).bounded),
    'p-queue': entrant('peer', async () => (await import('../../peers/p-queue.ts')).bounded, 2),
    'p-limit': entrant('peer', async () => (await import('../../peers/p-limit.ts')).bounded, 2),
    fastq: entrant('peer', async () => (await import('../../peers/fastq.ts')).bounded),
    async: entrant('peer', async () => (await import('../../peers/async.ts')).bounded),
    effect: entrant('peer', async () => (await import('../../peers/effect.ts')).bounded),
    floor: entrant('floor', async () => (await import('./floor.ts')).bounded),
  },
}
