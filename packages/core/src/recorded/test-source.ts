/** A recording as the source of a test. */
import type { RunSnapshot } from '../journal/journal.ts'
import type { RecordedNode } from '../run/replay.ts'
import { literalOf, quoted } from './literal.ts'
import type { Recording } from './recording.ts'

export interface SourceInput {
  readonly recording: Recording
  readonly snapshot: RunSnapshot
  /** The address of the run's journal. */
  readonly address: string
  /** What has made it. */
  readonly by: string
  /** Results as source, by node. */
  readonly values: ReadonlyMap<string, string>
  /** How many results were left out. */
  readonly omitted: number
  /** ISO time of the run's start. */
  readonly startedAt: string
  /** Whether to omit types, for a file that ends in .js or .mjs. */
  readonly plain: boolean
}

export function sourceOf(input: SourceInput): string {
  const { recording, snapshot, plain } = input
  const { id, startedAt } = snapshot
  const types = plain ? '' : ', type RecordedRun'
  const annotation = plain ? '' : ': RecordedRun'
  return `${header(input)}
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '@heddle/core/lowlevel'
import { replayRun, VirtualClock${types} } from '@heddle/core/testing'

const seed = ${seedOf(id)}

/** Times are milliseconds since the first start. */
const recorded${annotation} = {
${fields(input)}}

/** Attempts in the order in which they started. */
const starts = ${list(recording.starts)}

/** Attempts in the order in which they ended. */
const ends = ${list(recording.ends)}

const states = new Map([
${[...recording.states].map(([name, state]) => `  [${quoted(name)}, ${quoted(state)}],\n`).join('')}])

test(${quoted(`run ${id} starts and ends as it was recorded`)}, async () => {
  const clock = new VirtualClock({ wallTime: ${startedAt} })
  const replay = await replayRun(recorded, { clock, random: seededRandom(seed) })
  assert.deepEqual(replay.starts, starts)
  assert.deepEqual(replay.ends, ends)
  assert.deepEqual(replay.states, states)
  assert.equal(clock.pending, 0, 'timers are left')
})
`
}

function header({ recording, snapshot, address, by, omitted, startedAt }: SourceInput): string {
  const lines = [
    'A recorded run as a test.',
    '',
    `  run      ${snapshot.id}, ${snapshot.title}, started ${startedAt}`,
    `  command  ${snapshot.command}`,
    `  journal  ${address}`,
    `  made by  ${by}`,
    '',
    'The graph, the order of starts and ends, durations, errors and outcomes are those of the run. Jobs',
    'are stand-ins: on a virtual clock they take as long as the recorded attempts, and end as they did.',
  ]
  if (recording.kind === 'held') {
    lines.push(
      'Each node is added when it was started: its order was made by priorities, resources or limits',
      'that the journal does not keep.',
    )
  }
  if (recording.run.cutAt !== undefined) {
    lines.push('The recording was cut off: what ran at its end had not ended.')
  }
  if (omitted > 0) lines.push(`${omitted} large results are left out.`)
  lines.push('', 'Run it with `node --test`, where @heddle/core can be imported.')
  const safe = lines.map((line) => ` * ${inComment(line)}`.trimEnd())
  return ['/**', ...safe, ' */'].join('\n')
}

/** Titles and commands come from outside: they stay in their line, and in the comment. */
function inComment(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, ' ').replaceAll('*/', '* /')
}

function fields({ recording, values }: SourceInput): string {
  const { concurrency, controls, cutAt, nodes } = recording.run
  const lines = [`  concurrency: ${concurrency},`]
  if (cutAt !== undefined) lines.push(`  cutAt: ${cutAt},`)
  if (controls !== undefined) lines.push(`  controls: ${literal(controls)},`)
  lines.push('  nodes: [', ...nodes.map((node) => `    ${nodeSource(node, values)},`), '  ],', '')
  return lines.join('\n')
}

function nodeSource(node: RecordedNode, values: ReadonlyMap<string, string>): string {
  const value = values.get(node.name)
  const text = literal(node)
  return value === undefined ? text : `${text.slice(0, -2)}, value: ${value} }`
}

function literal(value: unknown): string {
  return literalOf(value, Infinity)!
}

/** Names, a few in each line. */
function list(names: readonly string[]): string {
  const lines: string[] = []
  for (const name of names.map(quoted)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + name.length < 94)
      lines[lines.length - 1] = `${last}, ${name}`
    else lines.push(name)
  }
  return `[\n${lines.map((line) => `  ${line},\n`).join('')}]`
}

/** A number that belongs to the run: FNV-1a of its id. */
function seedOf(id: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(id)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash
}
