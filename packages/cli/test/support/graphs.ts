import { Graph, job } from '@heddle/core'

const nothing = job({ name: 'nothing' }, () => undefined)

/** A graph of jobs that do nothing: `b:a` is b after a. */
export function graphOf(...specs: readonly string[]): Graph {
  const graph = new Graph()
  for (const spec of specs) {
    const [name, ...after] = spec.split(':')
    graph.add(name!, nothing, { after })
  }
  return graph
}
