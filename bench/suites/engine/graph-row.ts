import type { Contender, Entrant, Row } from '../../harness/row.ts'
import type { PlayGraph } from './contract.ts'
import type { Shape } from './shapes.ts'

/** Plays a graph and fails loudly when a library did not run every node exactly once. */
export function graphContender(shapeOf: (size: number) => Shape, play: PlayGraph): Contender {
  let cached: Shape | undefined
  return {
    prepare(size) {
      if (cached?.names.length !== size) cached = shapeOf(size)
      const shape = cached
      return async (built) => {
        let done = 0
        // oxlint-disable-next-line require-await -- a no-op async task is what the row is about
        const task = async () => {
          done++
        }
        await play(shape, task, built)
        if (done !== size) throw new Error(`ran ${done} tasks of ${size}`)
      }
    },
  }
}

type Slow = Pick<Entrant, 'size' | 'children' | 'rounds' | 'warmUpSize' | 'note'>

/** async.auto looks through all tasks after each one: 100,000 would take half an hour. */
export const asyncAutoAt10k: Slow = {
  size: 10_000,
  children: 1,
  rounds: 1,
  warmUpSize: 500,
  note: 'async.auto at 10,000 nodes and one round, it is quadratic',
}

/** The entrants of a graph row; `asyncAuto` and `pGraph` say what is too slow to play in full. */
export function graphEntrants(
  shapeOf: (size: number) => Shape,
  slow: { readonly asyncAuto?: Slow | false; readonly pGraph?: Slow | false },
): Row['entrants'] {
  const entrant = (role: Entrant['role'], play: () => Promise<PlayGraph>, more: Slow = {}) => ({
    role,
    load: async () => graphContender(shapeOf, await play()),
    ...more,
  })
  return {
    heddle: entrant('ours', async () => (await import('../../ours/scheduler.ts')).observed),
    'heddle plain': entrant('variant', async () => (await import('../../ours/scheduler.ts')).plain),
    ...(slow.pGraph !== false && {
      'p-graph': entrant(
        'peer',
        async () => (await import('../../peers/p-graph.ts')).graph,
        slow.pGraph,
      ),
    }),
    effect: entrant('peer', async () => (await import('../../peers/effect.ts')).workers),
    'effect runFork': entrant('peer', async () => (await import('../../peers/effect.ts')).runFork),
    ...(slow.asyncAuto !== false && {
      async: entrant(
        'peer',
        async () => (await import('../../peers/async.ts')).graph,
        slow.asyncAuto,
      ),
    }),
    floor: entrant('floor', async () => (await import('./floor.ts')).graph),
  }
}
