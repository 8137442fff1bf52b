/** Runs with chosen times: rows of a journal, written as a test would write them. */
import type { NodeState } from '../scheduler/node.ts'
import type { PlaceName } from '../graph/job.ts'
import type { RunState } from '../scheduler/events.ts'
import type { ErrorRecord, Journal, NodeHeader, RunHeader, RunWriter } from '../journal/journal.ts'
import { openJournal } from '../journal/open-journal.ts'

/** 2026-11-15 22:45:01 UTC. */
export const storyStart = 1_794_782_701_000

export function storyNode(name: string, ...after: string[]): NodeHeader {
  return { name, job: name, place: 'loop', after, input: '' }
}

export function placedNode(place: PlaceName, name: string, ...after: string[]): NodeHeader {
  return { ...storyNode(name, ...after), place }
}

interface Extra {
  readonly attempt?: number
  readonly error?: string | ErrorRecord
  readonly delay?: number
  readonly blockedBy?: string
  readonly value?: unknown
}

/** An event, with the milliseconds since the start. */
export type StoryRow =
  | readonly [at: number, node: string, state: NodeState, extra?: Extra]
  | readonly [at: number, state: RunState]
  | readonly [at: number, node: string, 'log', text: string]

export interface Story extends Partial<RunHeader> {
  readonly nodes: readonly NodeHeader[]
  readonly rows: readonly StoryRow[]
}

const holder = { pid: 4711, host: 'loom', command: 'heddle run build.ts -c 2' }

function errorOf(error: string | ErrorRecord): ErrorRecord {
  return typeof error === 'string' ? { name: 'Error', message: error } : error
}

/**
 * Writes a run, and leaves it open if no row ends it.
 *
 * *Cancellation*: none; it writes a few rows.
 */
export async function writeStory(journal: Journal, story: Story): Promise<RunWriter> {
  const { rows, ...header } = story
  const writer = await journal.openRun({
    id: '20261115-224501-k3f9q2',
    title: 'build.ts',
    startedAt: storyStart,
    options: { concurrency: 2, retries: 1 },
    ...holder,
    ...header,
  })
  await continueStory(writer, rows)
  return writer
}

/**
 * Adds rows to a run.
 *
 * *Cancellation*: none; it writes a few rows.
 */
export async function continueStory(writer: RunWriter, rows: readonly StoryRow[]): Promise<void> {
  for (const row of rows) {
    const at = storyStart + row[0]
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

/**
 * A journal in memory that holds one run.
 *
 * *Cancellation*: none; it writes a few rows.
 */
export async function storyJournal(story: Story): Promise<Journal> {
  const journal = await openJournal('memory')
  await writeStory(journal, story)
  return journal
}

/**
 * Two lanes, one retry, one failure, one blocked node:
 *
 *   fetch ─▶ parse (thread) ─▶ upload ✗ ─▶ notify
 *     └────▶ lint, tried twice
 */
export const sampleStory: Story = {
  nodes: [
    storyNode('fetch'),
    placedNode('thread', 'parse', 'fetch'),
    storyNode('lint', 'fetch'),
    storyNode('upload', 'parse'),
    storyNode('notify', 'upload'),
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
