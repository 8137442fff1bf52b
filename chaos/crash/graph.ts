/** A random graph that is the same in every process that knows its seed. */
import { Graph, type NodeRef } from '@heddle/core'
import { seededRandom } from '@heddle/core/lowlevel'
import { inThread, onLoop, valueOf, type Task, type Value } from './work.ts'

/** How far back a node's dependencies lie at most: deep enough for chains, wide enough for company. */
const reach = 40

interface Plan extends Omit<Task, 'effects' | 'from'> {
  readonly isThread: boolean
  readonly after: readonly string[]
}

function planNodes(seed: number, size: number): Plan[] {
  const random = seededRandom(seed)
  const below = (limit: number): number => Math.floor(random.next() * limit)
  return Array.from({ length: size }, (_, i) => {
    const after = new Set<string>()
    for (let edges = Math.min(i, below(4)); edges > 0; edges--) {
      after.add(`n${i - 1 - below(Math.min(i, reach))}`)
    }
    return {
      name: `n${i}`,
      seed,
      isThread: below(5) < 2,
      isFlaky: below(20) === 0,
      after: [...after],
    }
  })
}

export function makeGraph(seed: number, size: number, effects: string): Graph {
  const graph = new Graph()
  const nodes = new Map<string, NodeRef<Value>>()
  for (const { name, isThread, isFlaky, after } of planNodes(seed, size)) {
    const dependencies = after.map((dependency) => nodes.get(dependency)!)
    const node = graph.add(name, isThread ? inThread : onLoop, {
      after: dependencies,
      input: (of): Task => {
        const from = dependencies.map((dependency) => of(dependency).digest)
        return { name, seed, effects, isFlaky, from }
      },
    })
    nodes.set(name, node)
  }
  return graph
}

export interface Expected {
  readonly value: Value
  readonly after: readonly string[]
}

/** The value that every node must return, computed without running anything. */
export function expectedValues(seed: number, size: number): ReadonlyMap<string, Expected> {
  const expected = new Map<string, Expected>()
  for (const { name, after } of planNodes(seed, size)) {
    const from = after.map((dependency) => expected.get(dependency)!.value.digest)
    expected.set(name, { value: valueOf({ name, seed, from }), after })
  }
  return expected
}
