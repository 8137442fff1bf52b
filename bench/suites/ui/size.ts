/** What a browser fetches before the first page is there. */
import type { Figures, Row } from '../../harness/row.ts'
import {
  load,
  type BenchPage,
  type BrowserModule,
  type MadeRunModule,
  type StandInModule,
} from './parts.ts'

/** Waits for the list of runs, then sums what was fetched of the dashboard: bytes as they were sent, with gzip. */
const fetched = `(async () => {
  while (document.querySelector('tbody tr') === null) await new Promise((done) => requestAnimationFrame(done))
  const files = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  const own = files.filter(({ name }) => new URL(name).pathname.startsWith('/ui/'))
  return { bytes: own.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0), files: own.length }
})()`

export const sizeRow: Row = {
  name: 'first page, gzip',
  measure: 'latency',
  unit: 'bytes',
  size: 1,
  quickSize: 1,
  warmUps: 0,
  warmUpSize: 0,
  rounds: 1,
  children: 1,
  isOutside: true,
  also: [{ name: 'files', measure: 'latency', unit: 'files' }],
  note: 'Everything below /ui/ that a browser fetches until the list of runs is there; 80,000 bytes are allowed.',
  entrants: {
    heddle: {
      role: 'ours',
      load: async () => {
        const { serveMade } = await load<StandInModule>('test/stand-in/stand-in.ts')
        const { makeRun } = await load<MadeRunModule>('test/stand-in/made-run.ts')
        const { openBrowser } = await load<BrowserModule>('test/browser/launch.ts')
        return {
          prepare: async () => {
            const server = await serveMade([
              makeRun({ id: 'one', title: 'one.ts', items: 2, startedAt: 1e12 }),
            ])
            const browser = await openBrowser()
            const page: BenchPage = await browser.newPage({})
            return async () => {
              await page.goto(`${server.url}/ui/#/runs`)
              const { bytes, files } = await page.evaluate<{ bytes: number; files: number }>(
                fetched,
              )
              return (): Figures => ({ value: bytes, also: { files } })
            }
          },
        }
      },
    },
  },
}
