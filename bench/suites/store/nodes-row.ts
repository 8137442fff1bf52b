import type { Contender, Entrant, Row } from '../../harness/row.ts'
import { loose, random, type Shape } from '../engine/shapes.ts'
import { openQueueFlow, type PlayFlow } from '../journal/flow.ts'
import { graphNodes, looseNodes, nodesAtOnce } from './conditions.ts'
import { needsOf, ownAddress, type Backend } from './own-address.ts'
import { peers, type Peer } from './peers.ts'

const cpuFigure = 'CPU per node'

/** Times a whole run: each node is added, taken, done, and all of that is durable. */
function runContender(shapeOf: (size: number) => Shape, play: PlayFlow): Contender {
  return {
    prepare(size) {
      const shape = shapeOf(size)
      return async () => {
        const cpu = process.cpuUsage()
        const start = performance.now()
        await play(shape)
        const elapsed = performance.now() - start
        const { user, system } = process.cpuUsage(cpu)
        return () => ({
          value: (size / elapsed) * 1000,
          also: { [cpuFigure]: (user + system) / size },
        })
      }
    },
  }
}

export interface NodesRowOptions {
  readonly name: string
  readonly backend: Backend
  readonly shape: 'loose' | 'graph'
  /** The peers that it is played against. */
  readonly against: (peer: Peer) => boolean
}

/** Runs from end to end: nodes in a second. */
export function nodesRow({ name, backend, shape, against }: NodesRowOptions): Row {
  const shapeOf = shape === 'loose' ? loose : random
  const nodes = shape === 'loose' ? looseNodes : graphNodes
  const entrants: Record<string, Entrant> = {
    heddle: {
      role: 'ours',
      needs: needsOf(backend),
      load: async () => {
        const { openFlow } = await import('../../ours/journaled-run.ts')
        const { play } = await openFlow(await ownAddress(backend), 'fsync', nodesAtOnce)
        return runContender(shapeOf, play)
      },
    },
  }
  for (const [peer, description] of Object.entries(peers)) {
    if (!against(description)) continue
    const { open, needs, plan } = description
    entrants[peer] = {
      role: 'peer',
      needs,
      children: 2,
      ...(shape === 'loose' && plan),
      load: async () =>
        runContender(shapeOf, await openQueueFlow(await open(), 'fsync', nodesAtOnce)),
    }
  }
  return {
    name,
    measure: 'rate',
    unit: 'nodes/s',
    size: nodes,
    quickSize: 100,
    warmUps: 2,
    warmUpSize: Math.min(1_000, nodes),
    rounds: 3,
    children: 3,
    entrants,
    also: [{ name: cpuFigure, measure: 'latency', unit: 'µs' }],
  }
}
