/** Heddle in the rows that run a graph from end to end: `run()` with a journal. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Graph, job, run, type NodeRef, type RunOptions } from '@heddle/core'
import { openJournal } from '@heddle/core/lowlevel'
import type { Shape } from '../suites/engine/shapes.ts'
import type { Durability } from '../suites/journal/contract.ts'
import type { PlayFlow } from '../suites/journal/flow.ts'

const nothing = job({ name: 'nothing' }, () => 1)

/** Nodes that are added in one turn of the loop. The peers add their jobs in many turns, too. */
const nodesPerTurn = 2_000

const given = job({ name: 'given' }, (input: { readonly number: number }) => input.number)

/** The inputs of nodes: nothing, or a small object each. */
export type FlowInputs = 'none' | 'recorded' | 'not recorded'

async function graphOf({ names, after }: Shape, inputs: FlowInputs): Promise<Graph> {
  const graph = new Graph()
  const nodes: NodeRef[] = []
  for (const [index, name] of names.entries()) {
    if (index % nodesPerTurn === 0) await nextTurn()
    const options = { after: after[index]!.map((each) => nodes[each]!) }
    if (inputs === 'none') nodes.push(graph.add(name, nothing, options))
    else nodes.push(graph.add(name, given, { ...options, input: page(index) }))
  }
  return graph
}

function page(number: number): { readonly number: number; readonly url: string } {
  return { number, url: `https://example.org/pages/${number}` }
}

async function play(shape: Shape, options: RunOptions, inputs: FlowInputs = 'none'): Promise<void> {
  const result = await run(await graphOf(shape, inputs), options)
  if (result.succeeded.length !== shape.names.length) throw new Error('not everything succeeded')
}

/** Opens the journal before the time is taken, as the servers of the peers are started before. */
export async function openFlow(
  address: string,
  durability: Durability,
  concurrency: number,
  inputs: FlowInputs = 'none',
): Promise<AsyncDisposable & { readonly play: PlayFlow }> {
  const journal = await openJournal(address, { durability })
  return {
    play: (shape) =>
      play(shape, { concurrency, journal, recordInputs: inputs !== 'not recorded' }, inputs),
    [Symbol.asyncDispose]: () => journal.stop(),
  }
}

export function plainFlow(concurrency: number): PlayFlow {
  return (shape) => play(shape, { concurrency })
}
