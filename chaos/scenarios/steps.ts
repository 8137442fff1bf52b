/** The chain of jobs that the scenarios run; each counts its calls. */
import { Graph, job, type NodeRef } from '@heddle/core'

export interface Steps {
  readonly graph: Graph
  /** Names, in the order in which they ran. */
  readonly ran: readonly string[]
}

/** `bytes` is the size of each result. */
export function makeSteps(count: number, bytes = 1_000): Steps {
  const graph = new Graph()
  const ran: string[] = []
  let last: NodeRef | undefined
  const step = job({ name: 'step' }, (_: undefined, { name }) => {
    ran.push(name)
    return name.padEnd(bytes, '.')
  })
  for (let i = 0; i < count; i++) {
    last = graph.add(`step ${i}`, step, { after: last === undefined ? [] : [last] })
  }
  return { graph, ran }
}

/** Results must equal those made by makeSteps(). */
export function resultOf(name: string, bytes = 1_000): string {
  return name.padEnd(bytes, '.')
}
