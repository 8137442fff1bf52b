/**
 * The graph that `npm start` runs, for `heddle run graph.ts [-- number of stations]`: stations are
 * downloaded on the loop, smoothed in threads, compared and published.
 */
import { Graph } from '@heddle/core'
import { compare, download, publish, smooth, smoothFar, type Station } from './jobs.ts'

const names = [
  'Tromsø',
  'Oslo',
  'Riga',
  'Kraków',
  'Lyon',
  'Porto',
  'Bari',
  'Malta',
  'Tunis',
  'Cairo',
]

const stations: readonly Station[] = names.map((name, i) => ({
  name,
  delay: 800 + ((i * 370) % 1_000),
  mean: 3 + 2 * i,
  swing: 14 - i,
}))

/** With a fleet every second station is smoothed by its workers; without one all are smoothed in threads. */
export default function makeGraph(
  [count = '10']: readonly string[],
  { hasFleet = false } = {},
): Graph {
  const graph = new Graph()
  const climates = stations.slice(0, Number(count)).map((station, i) => {
    const csv = graph.add(`download ${station.name}`, download, { input: station })
    return graph.add(`smooth ${station.name}`, hasFleet && i % 2 === 0 ? smoothFar : smooth, {
      after: [csv],
      input: (of) => ({ station: station.name, csv: of(csv) }),
    })
  })
  const report = graph.add('compare', compare, {
    after: climates,
    input: (of) => climates.map((climate) => of(climate)),
  })
  graph.add('publish', publish, { after: [report], input: (of) => of(report) })
  return graph
}
