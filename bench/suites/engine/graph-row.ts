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

type Effort = Pick<Entrant, 'size' | 'children' | 'rounds' | 'warmUpSize' | 'note'>

/** async.auto looks through all tasks after each one: 100,000 would take about an hour. */
export const asyncAutoAt10k: Effort = {
  size: 10_000,
  children: 1,
  rounds: 1,
  warmUpSize: 500,
  note: 'async.auto at 10,000 nodes and one round, it is quadratic',
}

const ours = () => import('../../ours/scheduler.ts')
const effect = () => import('../../peers/effect.ts')

/** The peers that can play a graph. */
const library = {
  heddle: ['ours', async () => (await ours()).observed],
  'heddle plain': ['variant', async () => (await ours()).plain],
  'p-graph': ['peer', async () => (await import('../../peers/p-graph.ts')).graph],
  effect: ['peer', async () => (await effect()).workers],
  'effect runFork': ['peer', async () => (await effect()).runFork],
  async: ['peer', async () => (await import('../../peers/async.ts')).graph],
  floor: ['floor', async () => (await import('./floor.ts')).graph],
} satisfies Record<string, [Entrant['role'], () => Promise<PlayGraph>]>

/** The entrants of a graph row. `efforts` says who is played less than the others, or not at all. */
export function graphEntrants(
  shapeOf: (size: number) => Shape,
  efforts: Partial<Record<keyof typeof library, Effort | 'absent'>>,
): Row['entrants'] {
  const entrants: Record<string, Entrant> = {}
  for (const name of Object.keys(library) as (keyof typeof library)[]) {
    const [role, play] = library[name]
    const effort = efforts[name]
    if (effort === 'absent') continue
    entrants[name] = {
      role,
      load: async () => graphContender(shapeOf, await play()),
      ...effort,
    }
  }
  return entrants
}
