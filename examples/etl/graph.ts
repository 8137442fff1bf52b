/** The graph, for `heddle run graph.ts -- http://address-of-the-shop` and for main.ts. */
import { Graph } from '@heddle/core'
import { fetchPage, listPages, parsePage, report } from './jobs.ts'

/** At most 20 requests start in any second, also when the run is resumed in the middle of one. */
export const options = {
  resources: { site: { limit: 20, per: 1_000 } },
  concurrency: { loop: 10, thread: 2 },
}

export default function makeGraph([site = 'http://localhost:8080']: readonly string[]): Graph {
  const graph = new Graph()
  const list = graph.add('list', listPages, { input: site })
  const pages = graph.map('fetch', fetchPage, { over: list, window: 20 })
  const sales = graph.map('parse', parsePage, { over: pages })
  graph.add('report', report, { after: [sales], input: (of) => of(sales) })
  return graph
}
