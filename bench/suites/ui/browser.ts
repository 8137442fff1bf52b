import type { Contender, Figures, Row } from '../../harness/row.ts'
import {
  load,
  type BenchPage,
  type BrowserModule,
  type MadeRunModule,
  type StandInModule,
} from './parts.ts'

/** Each item has four nodes and a few more attempts. */
const nodesPerItem = 4

/** Resolves with the frame that shows the timeline. Evaluated as a whole: the policy of the page forbids eval. */
const painted = `(async () => {
  const isThere = () => document.querySelector('.timeline-canvas')?.width > 200 && document.querySelectorAll('.timeline-label').length > 3
  while (!isThere()) await new Promise((done) => requestAnimationFrame(done))
})()`

/** Milliseconds of the slowest of the 95 % fastest key presses, each until the frame after it. */
const interactions = `(async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  const times = []
  for (let i = 0; i < 40; i++) {
    const started = performance.now()
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: ['+', '-', 'l', 'h'][i % 4], bubbles: true }))
    await frame()
    times.push(performance.now() - started)
  }
  return times.sort((a, b) => a - b)[37]
})()`

/** Milliseconds of the slowest of 20 drawings of the whole run, each from the key press to the frame that shows it. */
const redrawing = `(async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  const press = (key) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))
  const times = []
  for (let i = 0; i < 20; i++) {
    press('+')
    await frame()
    const started = performance.now()
    press('0')
    await frame()
    times.push(performance.now() - started)
  }
  return Math.max(...times)
})()`

/**
 * Frames a second while the timeline is dragged to and fro for two seconds. Zoomed in first: a window that shows the whole run
 * does not move. Throws when the picture has not moved.
 */
const panning = `(async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
  const marks = () => [...document.querySelectorAll('.timeline-axis span')].map((mark) => mark.textContent + mark.style.left).join()
  for (let i = 0; i < 2; i++) document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }))
  await frame()
  const before = marks()
  const canvas = document.querySelector('.timeline-canvas')
  const box = canvas.getBoundingClientRect()
  const at = (type, x) => canvas.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: box.top + 20, pointerId: 1, button: 0, buttons: 1, bubbles: true }))
  canvas.setPointerCapture = () => {}
  canvas.hasPointerCapture = () => true
  at('pointerdown', box.left + 300)
  let frames = 0
  let isMoved = false
  const started = performance.now()
  while (performance.now() - started < 2000) {
    at('pointermove', box.left + 300 + 200 * Math.sin(frames / 8))
    isMoved ||= marks() !== before || canvas.style.transform !== ''
    await new Promise((done) => requestAnimationFrame(done))
    frames++
  }
  const passed = performance.now() - started
  at('pointerup', box.left + 300)
  if (!isMoved) throw new Error('the timeline did not move')
  return (frames * 1000) / passed
})()`

async function contender(): Promise<Contender> {
  const { serveMade } = await load<StandInModule>('test/stand-in/stand-in.ts')
  const { makeRun } = await load<MadeRunModule>('test/stand-in/made-run.ts')
  const { openBrowser } = await load<BrowserModule>('test/browser/launch.ts')
  const browser = await openBrowser()
  return {
    async prepare(nodes) {
      const items = Math.floor(nodes / nodesPerItem)
      const run = makeRun({ id: 'large', title: 'large.ts', items, startedAt: 1e12, lanes: 40 })
      const server = await serveMade([run])
      // A context of its own: nothing is cached.
      const page: BenchPage = await browser.newPage({ viewport: { width: 1360, height: 850 } })
      return async () => {
        const started = performance.now()
        await page.goto(`${server.url}/ui/?${started}#/runs/large`)
        await page.evaluate(painted)
        const opened = performance.now() - started
        const p95 = await page.evaluate<number>(interactions)
        const redraw = await page.evaluate<number>(redrawing)
        const frames = await page.evaluate<number>(panning)
        // The pages of earlier rounds must not draw beside this one.
        await page.close()
        await server[Symbol.asyncDispose]()
        return (): Figures => ({
          value: opened * 1_000,
          also: {
            'interaction p95': p95 * 1_000,
            'slowest full redraw': redraw * 1_000,
            'frames while panning': frames,
          },
        })
      }
    },
  }
}

function row(size: number): Row {
  return {
    name: `open a run of ${size.toLocaleString('en-US')} nodes`,
    measure: 'latency',
    unit: 'µs',
    size,
    quickSize: size,
    warmUps: 1,
    warmUpSize: 400,
    rounds: 3,
    children: 1,
    limitMs: 300_000,
    isOutside: true,
    also: [
      { name: 'interaction p95', measure: 'latency', unit: 'µs' },
      { name: 'slowest full redraw', measure: 'latency', unit: 'µs' },
      { name: 'frames while panning', measure: 'rate', unit: 'frames/s' },
    ],
    entrants: { heddle: { role: 'ours', load: contender } },
    note: 'From the navigation to the drawn timeline; the server answers columns from memory.',
  }
}

export const rows: readonly Row[] = [row(10_000), row(100_000)]
