/**
 * Runs with times chosen by hand, for tests that look at text. Import it first: it sets the time zone.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { NodeState, PlaceName, RunState } from '@heddle/core'
import {
  openJournal,
  type ErrorRecord,
  type Journal,
  type NodeHeader,
  type RunHeader,
  type RunWriter,
} from '@heddle/core/lowlevel'
import type { Surface } from '../../src/runs/look.ts'
import { asciiMarks, unicodeMarks } from '../../src/runs/marks.ts'
import { textOf, type Line } from '../../src/view/line.ts'
import { asciiSymbols, unicodeSymbols } from '../../src/view/symbols.ts'

process.env['TZ'] = 'UTC'

/** 2026-11-15 22:45:01. */
export const zero: number = Date.UTC(2026, 10, 15, 22, 45, 1)

export function node(name: string, ...after: string[]): NodeHeader {
  return { name, job: name, place: 'loop', after, input: '' }
}

export function placed(place: PlaceName, name: string, ...after: string[]): NodeHeader {
  return { ...node(name, ...after), place }
}

interface Extra {
  readonly attempt?: number
  readonly error?: string | ErrorRecord
  readonly delay?: number
  readonly blockedBy?: string
  readonly value?: unknown
}

/** Milliseconds since the start, and what happened then. */
export type Row =
  | readonly [at: number, node: string, state: NodeState, extra?: Extra]
  | readonly [at: number, state: RunState]
  | readonly [at: number, node: string, 'log', text: string]

export interface Story extends Partial<RunHeader> {
  readonly nodes: readonly NodeHeader[]
  readonly rows: readonly Row[]
}

const holder = { pid: 4711, host: 'loom', command: 'heddle run build.ts -c 2' }

function errorOf(error: string | ErrorRecord): ErrorRecord {
  return typeof error === 'string' ? { name: 'Error', message: error } : error
}

/** Writes a run, and leaves it open if no row ends it. */
export async function tell(journal: Journal, story: Story): Promise<RunWriter> {
  const { rows, ...header } = story
  const writer = await journal.openRun({
    id: '20261115-224501-k3f9q2',
    title: 'build.ts',
    startedAt: zero,
    options: { concurrency: 2, retries: 1 },
    ...holder,
    ...header,
  })
  await goOn(writer, rows)
  return writer
}

export async function goOn(writer: RunWriter, rows: readonly Row[]): Promise<void> {
  for (const row of rows) {
    const at = zero + row[0]
    if (row.length === 2) {
      writer.setState(row[1], at)
      continue
    }
    const [, name, state, more] = row
    if (state === 'log') {
      writer.log({ node: name, attempt: 0, at, text: more })
      continue
    }
    const { attempt = 0, error, delay, blockedBy, value } = more ?? {}
    const transition = {
      node: name,
      state,
      attempt,
      at,
      ...(error !== undefined && { error: errorOf(error) }),
      ...(delay !== undefined && { delay }),
      ...(blockedBy !== undefined && { blockedBy }),
    }
    if (state === 'succeeded') await writer.commit(transition, value)
    else writer.append(transition)
  }
  await writer.flush()
}

export async function told(story: Story): Promise<Journal> {
  const journal = await openJournal('memory')
  await tell(journal, story)
  return journal
}

/**
 * Two lanes, one retry, one failure, one blocked node:
 *
 *   fetch ─▶ parse (thread) ─▶ upload ✗ ─▶ notify
 *     └────▶ lint, tried twice
 */
export const build: Story = {
  nodes: [
    node('fetch'),
    placed('thread', 'parse', 'fetch'),
    node('lint', 'fetch'),
    node('upload', 'parse'),
    node('notify', 'upload'),
  ],
  rows: [
    [0, 'fetch', 'ready'],
    [10, 'fetch', 'running'],
    [10, 'fetch', 'log', 'reading 3 pages'],
    [210, 'fetch', 'succeeded', { value: { pages: 3 } }],
    [210, 'parse', 'ready'],
    [210, 'lint', 'ready'],
    [210, 'parse', 'running'],
    [310, 'lint', 'running'],
    [410, 'lint', 'retrying', { attempt: 1, error: 'busy', delay: 90 }],
    [500, 'lint', 'ready', { attempt: 1 }],
    [510, 'lint', 'running', { attempt: 1 }],
    [610, 'lint', 'succeeded', { attempt: 1 }],
    [710, 'parse', 'succeeded', { value: 'a long text' }],
    [710, 'upload', 'ready'],
    [710, 'upload', 'running'],
    [1010, 'upload', 'failed', { error: { name: 'TypeError', message: 'answered 503' } }],
    [1010, 'notify', 'blocked', { blockedBy: 'upload' }],
    [1010, 'finished'],
  ],
}

export function surfaceOf(more: Partial<Surface> = {}): Surface {
  return {
    symbols: unicodeSymbols,
    marks: unicodeMarks,
    columns: undefined,
    now: zero + 200_000,
    json: false,
    address: 'sqlite:runs.db',
    ...more,
  }
}

export const plainSurface: Surface = surfaceOf({ symbols: asciiSymbols, marks: asciiMarks })

export function text(lines: readonly Line[]): string {
  return lines.map(textOf).join('\n')
}

/** A text as it is written in a test: two columns to the right of the end of the template. */
export function picture(strings: TemplateStringsArray): string {
  const lines = strings.raw[0]!.split('\n')
  const indent = lines.pop()!.length + 2
  return lines
    .slice(1)
    .map((line) => line.slice(indent))
    .join('\n')
}

/** A folder that is gone afterwards. */
export async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-runs-'))
  try {
    await body(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
