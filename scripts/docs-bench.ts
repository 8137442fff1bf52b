/**
 * Writes the measured table of the README.
 *
 *     npm run -s bench -- engine --json > engine.json
 *     node scripts/setup.mjs scripts/docs-bench.ts engine.json     keeps the figures in docs/reference/bench-engine.json, writes the table
 *     node scripts/setup.mjs scripts/docs-bench.ts                 writes the table from the kept figures
 *
 * With `--check` only compares.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import path from 'node:path'
import { root } from './tool.ts'

const kept = path.join(root, 'docs/reference/bench-engine.json')
const readme = path.join(root, 'README.md')
const marks = /(<!-- measured by the bench: begin -->\n)[^]*(<!-- measured by the bench: end -->)/

interface Row {
  readonly name: string
  readonly unit: string
  readonly ours: number | null
  readonly peers: Readonly<Record<string, number | null>>
  readonly loopGapMs?: number
  readonly peerLoopGapMs?: Readonly<Record<string, number>>
  /** What was played smaller than the row says, and what failed. */
  readonly notes?: readonly string[]
}

interface Figures {
  /** For example 2026-11-18. */
  readonly date: string
  readonly node: string
  readonly machine: string
  readonly rows: readonly Row[]
}

/** The rows that the README shows, with their descriptions. */
const shown: Readonly<Record<string, string>> = {
  'chain 10k': '10,000 jobs, each after the one before',
  'fan 100k': '100,000 jobs after one job',
  'bounded 1M': '1,000,000 independent jobs, a few at a time',
  'thread round trip': 'one call into a thread and back',
  'thread tiny calls, 64 in flight': 'tiny calls into threads, 64 at a time',
}

/** Stores the output of a bench run on this machine. */
function keep(file: string): void {
  const measured = JSON.parse(readFileSync(file, 'utf8')) as readonly Row[]
  const figures: Figures = {
    date: statSync(file).mtime.toISOString().slice(0, 10),
    node: process.version,
    machine: `${availableParallelism()} cores of ${cpus()[0]?.model ?? 'an unknown processor'}`,
    rows: measured
      .filter(({ name }) => Object.hasOwn(shown, name))
      .map(({ name, unit, ours, peers, loopGapMs, peerLoopGapMs, notes = [] }) => ({
        name,
        unit,
        ours,
        peers,
        notes,
        ...(loopGapMs !== undefined && { loopGapMs }),
        ...(peerLoopGapMs !== undefined && { peerLoopGapMs }),
      })),
  }
  writeFileSync(kept, `${JSON.stringify(figures, null, 2)}\n`)
}

function show(value: number | null, gap: number | undefined): string {
  if (value === null) return 'failed'
  const wait = gap === undefined ? '' : ` (${Number(gap.toPrecision(2)).toLocaleString('en')} ms)`
  return `${value.toLocaleString('en')}${wait}`
}

function table({ date, node, machine, rows }: Figures): string {
  const lines = rows.map(({ name, unit, ours, peers, loopGapMs, peerLoopGapMs }) => {
    const others = Object.entries(peers)
      .toSorted(([, a], [, b]) => (unit === 'µs' ? (a ?? 0) - (b ?? 0) : (b ?? 0) - (a ?? 0)))
      .map(([peer, value]) => `${peer} ${show(value, peerLoopGapMs?.[peer])}`)
    return `| ${shown[name]!}, ${unit} | ${show(ours, loopGapMs)} | ${others.join(', ')} |`
  })
  const notes = new Set(rows.flatMap((row) => row.notes ?? []))
  return [
    `Measured on ${date} by \`npm run bench -- engine\` with Node ${node.slice(1)} on ${machine}; in brackets the longest time in which the event loop stood still.`,
    '',
    '| what | Heddle | others |',
    '|---|---|---|',
    ...lines,
    '',
    ...[...notes].map((note) => `* ${note}`),
    '',
  ].join('\n')
}

const file = process.argv.slice(2).find((word) => word !== '--check')
if (file !== undefined) keep(file)
const text = readFileSync(readme, 'utf8')
const figures = JSON.parse(readFileSync(kept, 'utf8')) as Figures
const wanted = text.replace(
  marks,
  (_, begin: string, end: string) => `${begin}${table(figures)}${end}`,
)
if (!process.argv.includes('--check')) writeFileSync(readme, wanted)
else if (wanted !== text) {
  console.error(
    'The table of README.md is not that of docs/reference/bench-engine.json: run `npm run format`.',
  )
  process.exitCode = 1
}
