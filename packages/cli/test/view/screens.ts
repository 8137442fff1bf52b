/**
 * The live view at the sizes of real terminals, with few and many nodes, with and without colour.
 * `node scripts/setup.mjs packages/cli/test/view/screens.ts [--color]` prints all of them.
 */
import { Graph, job, type NodeState, type RunEvent } from '@heddle/core'
import { RunModel } from '../../src/model/run-model.ts'
import { frame } from '../../src/view/frame.ts'
import { paint, type Line } from '../../src/text/line.ts'
import { asciiSymbols, unicodeSymbols } from '../../src/text/symbols.ts'
import { firstUi } from '../../src/view/ui-state.ts'
import type { WaitingNotice } from '../../src/view/viewport.ts'

export const sizes: readonly (readonly [columns: number, rows: number])[] = [
  [200, 50],
  [80, 24],
  [40, 10],
]

export const nodeCounts = [10, 10_000] as const

const now = 84_300

const parse = job({ name: 'parse', place: 'thread', module: import.meta.url }, () => undefined)

function event(name: string, state: NodeState, at: number, more: object = {}): RunEvent {
  return { type: 'node', at, name, state, attempt: 0, ...more }
}

/** A run half-way, with one of everything: `nodes` nodes, most of them of two jobs. */
function sampleModel(nodes: number): { model: RunModel; waiting: WaitingNotice[] } {
  const made = (name: string): ReturnType<typeof job> => job({ name }, () => undefined)
  const fetchPage = made('fetch')
  const graph = new Graph()
  const names = { fetch: [] as string[], parse: [] as string[] }
  const many = Math.floor((nodes - 8) / 2)
  graph.add('list the pages of the catalogue', made('list'))
  for (let page = 1; page <= many; page++) {
    names.fetch.push(`fetch page ${page}`)
    graph.add(`fetch page ${page}`, fetchPage, { after: ['list the pages of the catalogue'] })
  }
  for (let page = 1; page <= many; page++) {
    names.parse.push(`parse page ${page}`)
    graph.add(`parse page ${page}`, parse, { after: [`fetch page ${page}`] })
  }
  graph.map('resize images', made('resize'), { over: () => [] })
  graph.add('wait for approval', made('approve'))
  graph.add('lint-20261117-093012-k3f9q2', made('lint'))
  graph.add('docs', made('docs'), { after: ['lint-20261117-093012-k3f9q2'] })
  graph.add('upload', made('upload'), { after: names.parse.slice(0, 1) })
  graph.add('install', made('install'))
  graph.add('deploy preview', made('deploy'))
  const model = new RunModel(graph, { title: 'nightly.ts', retries: 2 })
  model.apply(event('install', 'succeeded', 0))
  model.apply({ type: 'state', at: 0, state: 'running' })
  model.apply({ type: 'start', at: 0, nodes: graph.size })
  const play = (
    name: string,
    ...steps: readonly (readonly [NodeState, number, object?])[]
  ): void => {
    for (const [state, at, more] of steps) model.apply(event(name, state, at, more))
  }
  play('list the pages of the catalogue', ['ready', 0], ['running', 0], ['succeeded', 1_240])
  const done = Math.floor(many / 2)
  names.fetch.forEach((name, index) => {
    if (index < done) play(name, ['ready', 1_300], ['running', 1_400], ['succeeded', 2_000 + index])
    else if (index < done + 16) play(name, ['ready', 1_300], ['running', 80_000 + index])
    else play(name, ['ready', 1_300])
  })
  names.parse.forEach((name, index) => {
    if (index < Math.floor(done / 2))
      play(name, ['ready', 3_000], ['running', 3_000], ['succeeded', 4_000])
    else if (index < Math.floor(done / 2) + 2) play(name, ['ready', 3_000], ['running', 83_000])
  })
  play('resize images', ['ready', 0], ['running', 10], ['suspended', 20])
  model.apply({
    type: 'progress',
    at: 80_000,
    name: 'resize images',
    attempt: 0,
    fraction: 0.485,
    text: '97 of 200, 2 failed, 12/s',
  })
  play('deploy preview', ['skipped', 50])
  play('wait for approval', ['ready', 0], ['running', 10], ['suspended', 20])
  const broken = { error: new TypeError('12 problems in packages/catalogue/src/index.ts') }
  const lint = 'lint-20261117-093012-k3f9q2'
  play(lint, ['ready', 0], ['running', 0], ['failed', 3_100, broken])
  play('docs', ['blocked', 3_100, { blockedBy: lint }])
  const upload = { attempt: 1, delay: 6_400, error: new Error('connection reset by peer') }
  play('upload', ['ready', 4_000], ['running', 4_000], ['retrying', 82_000, upload])
  const waiting = names.fetch.slice(done + 16, done + 18).map((name) => ({
    row: model.get(name)!,
    state: 'ready' as const,
    text: 'ready; all 16 permits of "api" are in use',
  }))
  return { model, waiting }
}

export function screen(
  nodes: number,
  columns: number,
  rows: number,
  isUnicode = true,
): readonly Line[] {
  const { model, waiting } = sampleModel(nodes)
  return frame(model, firstUi, {
    columns,
    rows,
    now,
    remaining: 65_000,
    waiting,
    gap: { ms: 212, blame: 'job "parse" at jobs.ts:12:5' },
    notice: undefined,
    keys: true,
    symbols: isUnicode ? unicodeSymbols : asciiSymbols,
  })
}

if (import.meta.main) {
  const color = process.argv.includes('--color')
  for (const nodes of nodeCounts) {
    for (const [columns, rows] of sizes) {
      console.log(`\n── ${nodes} nodes, ${columns} × ${rows} ${'─'.repeat(20)}`)
      for (const line of screen(nodes, columns, rows)) console.log(paint(line, color))
    }
  }
}
