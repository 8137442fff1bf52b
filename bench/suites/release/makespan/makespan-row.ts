import type { Contender, Entrant, Role, Row } from '../../../harness/row.ts'
import { buildTime, concurrency, seeds, uploadTime } from '../conditions.ts'
import type { ReleaseModel } from './model.ts'

interface Conditions {
  readonly packages: number
  /** Milliseconds, median. */
  readonly visibility: number
}

/** Prepares a release; the function that it gives plays it and says how long it took. */
type Prepare = (model: ReleaseModel) => Promise<() => Promise<number>>

const strategies = () => import('./strategies.ts')

async function graphOf(model: ReleaseModel, gate: 'visible' | 'accepted') {
  const { stageGraph } = await import('./stage-graph.ts')
  const { workFolder } = await import('../../../servers/work-folder.ts')
  return stageGraph(model, await workFolder(), { gate })
}

const entrants: Readonly<Record<string, { readonly role: Role; readonly prepare: Prepare }>> = {
  heddle: {
    role: 'ours',
    prepare: async (model) => {
      const [{ byStages }, graph] = [await strategies(), await graphOf(model, 'visible')]
      return () => byStages(model, graph)
    },
  },
  'heddle, 5 builds and uploads together': {
    role: 'variant',
    prepare: async (model) => {
      const [{ byStagesInOnePool }, graph] = [await strategies(), await graphOf(model, 'visible')]
      return () => byStagesInOnePool(model, graph)
    },
  },
  'heddle --gate accepted': {
    role: 'variant',
    prepare: async (model) => {
      const [{ byStages }, graph] = [await strategies(), await graphOf(model, 'accepted')]
      return () => byStages(model, graph)
    },
  },
  'one job per package, poll without slot': {
    role: 'variant',
    prepare: async (model) => {
      const { freeingSlots } = await strategies()
      return () => freeingSlots(model)
    },
  },
  'level barrier': {
    role: 'peer',
    prepare: async (model) => {
      const { byLevels } = await strategies()
      return () => byLevels(model)
    },
  },
  'slot-holding poll': {
    role: 'peer',
    prepare: async (model) => {
      const { holdingSlots } = await strategies()
      return () => holdingSlots(model)
    },
  },
  floor: {
    role: 'floor',
    prepare: async (model) => {
      const { withoutLimits } = await strategies()
      return () => Promise.resolve(withoutLimits(model))
    },
  },
}

/** Minutes of virtual time until everything is visible, median over seeds. */
export function makespanRow({ packages, visibility }: Conditions): Row {
  const contender = (prepare: Prepare): Contender => {
    let seed = 0
    return {
      async prepare(size) {
        const { modelRelease } = await import('./model.ts')
        const play = await prepare(modelRelease(size, visibility, ++seed))
        return async () => {
          const value = (await play()) / 60_000
          return () => ({ value, also: {} })
        }
      },
    }
  }
  const played = Object.entries(entrants).map(([name, { role, prepare }]): [string, Entrant] => [
    name,
    { role, load: () => Promise.resolve(contender(prepare)) },
  ])
  return {
    name: `makespan: ${packages} packages, visible after ${visibility / 1000} s`,
    measure: 'latency',
    unit: 'min of virtual time',
    size: packages,
    quickSize: 20,
    warmUps: 0,
    warmUpSize: packages,
    rounds: seeds,
    children: 1,
    entrants: Object.fromEntries(played),
    note:
      `medians of builds ${buildTime / 1000} s and visibility ${visibility / 1000} s (log-normal), ` +
      `uploads ${uploadTime / 1000} s, ${concurrency} at once; the real scheduler, stages and polls; ` +
      'heddle has 5 for builds and 5 for uploads; the floor has no limits and sees everything at once',
  }
}
