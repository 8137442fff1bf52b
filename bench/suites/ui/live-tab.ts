/** A tab that follows a run for ten minutes: its memory at 1,200 events a second. */
import type { ServerResponse } from 'node:http'
import { setInterval, setTimeout } from 'node:timers/promises'
import type { Figures, Row } from '../../harness/row.ts'
import {
  load,
  type BenchPage,
  type BrowserModule,
  type DebugSession,
  type MadeRunModule,
  type StandInModule,
} from './parts.ts'

const framesPerSecond = 10
const eventsPerFrame = 120
/** Indexes of `nodeStates`: running and succeeded in turn. */
const running = 2
const succeeded = 4

interface Feed {
  sent: number
}

/** Sends changes of nodes, as a server does for a run that is busy, for as long as the tab listens. */
function feed(names: readonly string[], start: number, counts: object, sent: Feed) {
  return async (_run: string, response: ServerResponse): Promise<void> => {
    let position = start
    let next = 0
    for await (const _ of setInterval(1_000 / framesPerSecond)) {
      if (response.closed) return
      const at = Date.now()
      const nodes = Array.from({ length: eventsPerFrame }, () => {
        const round = Math.floor(next / names.length)
        const state = round % 2 === 0 ? running : succeeded
        return [names[next++ % names.length]!, state, 0, at, null]
      })
      position += nodes.length
      sent.sent += nodes.length
      const change = { position, at, counts, added: [], nodes, log: [], progress: [] }
      response.write(`id: ${position}\nevent: change\ndata: ${JSON.stringify(change)}\n\n`)
    }
  }
}

/** Bytes that the page holds after two collections. */
async function heapOf(session: DebugSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage')
  await session.send('HeapProfiler.collectGarbage')
  const { metrics } = (await session.send('Performance.getMetrics')) as {
    readonly metrics: readonly { readonly name: string; readonly value: number }[]
  }
  return metrics.find(({ name }) => name === 'JSHeapUsedSize')!.value
}

const isLive = `(async () => {
  while (document.querySelector('.timeline-canvas') === null) await new Promise((done) => requestAnimationFrame(done))
})()`

export const liveTabRow: Row = {
  name: 'live tab at 1,200 events/s: heap after ten minutes',
  measure: 'latency',
  unit: 'MB',
  size: 600_000,
  quickSize: 12_000,
  warmUps: 0,
  warmUpSize: 0,
  rounds: 1,
  children: 1,
  limitMs: 20 * 60_000,
  isOutside: true,
  also: [
    { name: 'heap after a tenth of the time', measure: 'latency', unit: 'MB' },
    { name: 'growth a minute from there', measure: 'latency', unit: 'kB' },
    { name: 'events', measure: 'rate', unit: 'events/s' },
  ],
  note: 'What the page holds after collections: flat when the growth is about 0. A run of 2,000 nodes whose nodes change; the server is a stand-in.',
  entrants: {
    heddle: {
      role: 'ours',
      load: async () => {
        const { serveMade } = await load<StandInModule>('test/stand-in/stand-in.ts')
        const { makeRun } = await load<MadeRunModule>('test/stand-in/made-run.ts')
        const { openBrowser } = await load<BrowserModule>('test/browser/launch.ts')
        return {
          prepare: async (milliseconds) => {
            const run = makeRun({
              id: 'live',
              title: 'live.ts',
              items: 500,
              startedAt: Date.now() - 60_000,
              lanes: 20,
              outcome: 'running',
            })
            const sent: Feed = { sent: 0 }
            const events = feed(run.nodes.name, run.head.position, run.head.counts, sent)
            const server = await serveMade([run], {
              events: (id, response) => void events(id, response),
            })
            const browser = await openBrowser()
            const page: BenchPage = await browser.newPage({
              viewport: { width: 1360, height: 850 },
            })
            return async () => {
              await page.goto(`${server.url}/ui/#/runs/live`)
              await page.evaluate(isLive)
              const session = await page.context().newCDPSession(page)
              await session.send('Performance.enable')
              await session.send('HeapProfiler.enable')
              await setTimeout(milliseconds / 10)
              const early = await heapOf(session)
              const [before, from] = [sent.sent, performance.now()]
              await setTimeout((milliseconds * 9) / 10)
              const passed = performance.now() - from
              const late = await heapOf(session)
              const rate = ((sent.sent - before) * 1_000) / passed
              return (): Figures => ({
                value: late / 1e6,
                also: {
                  'heap after a tenth of the time': early / 1e6,
                  'growth a minute from there': ((late - early) / 1e3 / passed) * 60_000,
                  events: rate,
                },
              })
            }
          },
        }
      },
    },
  },
}
