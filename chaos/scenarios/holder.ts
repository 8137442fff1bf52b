/** Runs a graph that never ends, until it is killed. */
import { Graph, job, run } from '@heddle/core'

export function makeGraph(last: () => unknown): Graph {
  const graph = new Graph()
  const first = graph.add(
    'first',
    job({ name: 'first' }, () => 'done'),
  )
  graph.add('last', job({ name: 'last' }, last), { after: [first] })
  return graph
}

const [, program, journal] = process.argv
if (program === import.meta.filename) {
  const graph = makeGraph(() => {
    console.log('last has started')
    return new Promise(() => {})
  })
  // Keeps the process alive: nothing else does while a job waits for nothing.
  setInterval(() => undefined, 60_000)
  await run(graph, { journal: journal! })
}
