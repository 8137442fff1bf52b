/**
 * What `npm start` runs: three stations are downloaded on the loop, smoothed in threads, compared
 * and published. Every job starts the moment its own dependencies are done, not when a stage is.
 */
import { Graph, startRun, type RunEvent } from '@heddle/core'
import { LoopWatch } from '@heddle/core/lowlevel'
import { compare, download, publish, smooth, type Station } from './jobs.ts'

const stations: readonly Station[] = [
  { name: 'north', delay: 150, mean: 4, swing: 14 },
  { name: 'south', delay: 60, mean: 17, swing: 9 },
  { name: 'west', delay: 250, mean: 11, swing: 6 },
]

const graph = new Graph()
const climates = stations.map((station) => {
  const csv = graph.add(`download ${station.name}`, download, { input: station })
  return graph.add(`smooth ${station.name}`, smooth, {
    after: [csv],
    input: (of) => ({ station: station.name, csv: of(csv) }),
  })
})
const report = graph.add('compare', compare, {
  after: climates,
  input: (of) => climates.map((climate) => of(climate)),
})
graph.add('publish', publish, { after: [report], input: (of) => of(report) })

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(2)} s`

let startedAt = 0
/** Milliseconds that jobs spent in threads. */
let computed = 0
function print(event: RunEvent): void {
  if (event.type === 'start') {
    startedAt = event.at
    console.log(`${event.nodes} jobs, at most 4 at a time`)
  }
  if (event.type !== 'node') return
  if (graph.get(event.name)?.job.place === 'thread') {
    if (event.state === 'running') computed -= event.at
    if (event.state === 'succeeded') computed += event.at
  }
  const line = describe(event)
  if (line !== undefined) console.log(`${seconds(event.at - startedAt).padStart(8)}  ${line}`)
}

function describe(event: RunEvent & { type: 'node' }): string | undefined {
  const place = graph.get(event.name)?.job.place
  if (event.state === 'running') return `start   ${event.name} (${place})`
  if (event.state === 'succeeded') return `done    ${event.name}`
  if (event.state === 'retrying') {
    return `retry   ${event.name} in ${seconds(event.delay ?? 0)}: ${String(event.error)}`
  }
  return event.state === 'failed' ? `failed  ${event.name}: ${String(event.error)}` : undefined
}

await using watch = new LoopWatch({ threshold: 20 })
await watch.start()
const { scheduler, result } = await startRun(graph, {
  concurrency: 4,
  retryBaseDelay: 100,
  observer: print,
})
const ended = await result

console.log()
for (const line of ended.of(report)) console.log(`  ${line}`)
console.log()
const { path, length } = await scheduler.criticalPath()
const alone = await scheduler.whatIf({ concurrency: 1 })
console.log(
  `${ended.succeeded.length} of ${graph.size} jobs succeeded in ${seconds(ended.duration)}`,
)
console.log(`critical path, ${seconds(length)}: ${path.map(({ name }) => name).join(' → ')}`)
console.log(`one at a time it would have taken ${seconds(alone.duration)}`)
console.log(
  `threads computed for ${seconds(computed)}; the longest time the loop was not free: ${watch.stats().longest.toFixed()} ms`,
)
process.exitCode = ended.ok ? 0 : 1
