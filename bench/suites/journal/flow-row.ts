import path from 'node:path'
import type { Contender, Entrant, Row } from '../../harness/row.ts'
import { random } from '../engine/shapes.ts'
import { flowConcurrency, flowNodes } from './conditions.ts'
import type { Durability } from './contract.ts'
import { openQueueFlow, playOnLedger, type PlayFlow } from './flow.ts'
import { peers } from './peers.ts'
import type { FlowInputs } from '../../ours/journaled-run.ts'
import { workFolder } from '../../servers/work-folder.ts'

function flowContender(play: PlayFlow): Contender {
  return {
    prepare(size) {
      const shape = random(size)
      return () => play(shape)
    },
  }
}

const ours = () => import('../../ours/journaled-run.ts')

/** A graph from end to end: three random earlier nodes each. */
export function flowRow(durability: Durability): Row {
  const journaled = (role: Entrant['role'], inputs: FlowInputs): Entrant => ({
    role,
    load: async () => {
      const { openFlow } = await ours()
      const address = `sqlite:${path.join(await workFolder(), 'runs.db')}`
      const { play } = await openFlow(address, durability, flowConcurrency, inputs)
      return flowContender(play)
    },
  })
  const entrants: Record<string, Entrant> = {
    heddle: journaled('ours', 'none'),
    'heddle, inputs': journaled('variant', 'recorded'),
    'heddle, inputs that are not recorded': journaled('variant', 'not recorded'),
    'heddle without journal': {
      role: 'variant',
      load: async () => flowContender((await ours()).plainFlow(flowConcurrency)),
    },
    floor: {
      role: 'floor',
      load: async () => {
        const { ledger } = await import('./floor.ts')
        const opened = await ledger(path.join(await workFolder(), 'floor.db'), durability)
        return flowContender((shape) => playOnLedger(shape, opened))
      },
    },
  }
  for (const [name, { open, needs, children }] of Object.entries(peers)) {
    entrants[name] = {
      role: 'peer',
      needs: needs[durability],
      children,
      rounds: 2,
      warmUpSize: 100,
      load: async () =>
        flowContender(await openQueueFlow(await open(), durability, flowConcurrency)),
    }
  }
  return {
    name: `${durability}, graph of ${flowNodes}`,
    measure: 'rate',
    unit: 'nodes/s',
    size: flowNodes,
    quickSize: 50,
    warmUps: 2,
    warmUpSize: flowNodes,
    rounds: 5,
    children: 4,
    entrants,
  }
}
