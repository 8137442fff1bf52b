/** Ours in the rows that run a graph from end to end: `run()` with a journal. */
import { Graph, job, run, type NodeRef, type RunOptions } from '@heddle/core'
import { openJournal } from '@heddle/core/lowlevel'
import type { Shape } from '../suites/engine/shapes.ts'
import type { Durability } from '../suites/journal/contract.ts'
import type { PlayFlow } from '../suites/journal/flow.ts'

const nothing = job({ name: 'nothing' }, () => 1)

function graphOf({ names, after }: Shape): Graph {
  const graph = new Graph()
  const nodes: NodeRef[] = []
  names.forEach((name, index) => {
    nodes.push(graph.add(name, nothing, { after: after[index]!.map((each) => nodes[each]!) }))
  })
  return graph
}

async function play(shape: Shape, options: RunOptions): Promise<void> {
  const result = await run(graphOf(shape), options)
  if (result.succeeded.length !== shape.names.length) throw new Error('not everything succeeded')
}

/** The journal is open before: the servers of the peers are up, too. */
export async function openFlow(
  address: string,
  durability: Durability,
  concurrency: number,
): Promise<AsyncDisposable & { readonly play: PlayFlow }> {
  const journal = await openJournal(address, { durability })
  return {
    play: (shape) => play(shape, { concurrency, journal }),
    [Symbol.asyncDispose]: () => journal.stop(),
  }
}

export function plainFlow(concurrency: number): PlayFlow {
  return (shape) => play(shape, { concurrency })
}
