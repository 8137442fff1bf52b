/** A recorded run as a test that can be run: `heddle runs export`, and the dashboard's export. */
import { isDeepStrictEqual } from 'node:util'
import { HeddleError } from '../errors.ts'
import { redactValue } from '../graph/redact.ts'
import type { HistoryEntry, Journal, RunSnapshot } from '../journal/journal.ts'
import { seededRandom } from '../kernel/random.ts'
import { VirtualClock } from '../kernel/virtual-clock.ts'
import { replayRun } from '../run/replay.ts'
import { literalOf } from './literal.ts'
import { lastSession, makeRecording, type Recording, type RecordingKind } from './recording.ts'
import { sourceOf } from './test-source.ts'

export interface TestExportOptions {
  /** Where the run is recorded, without passwords: it stands in the test. */
  readonly address: string
  /** What makes the test: it stands there too. */
  readonly by: string
  /** Whether to omit types, for a JavaScript file. */
  readonly plain?: boolean
}

export interface ExportedTest {
  readonly source: string
  readonly kind: RecordingKind
  readonly nodes: number
  readonly attempts: number
}

/**
 * The source of a test that plays the run again on a virtual clock, with stand-ins for its jobs.
 *
 * *Cancellation*: none; it reads the current state, and replays it at most twice.
 * @throws `HDL_UNKNOWN_RUN`; `HDL_NOT_REPRODUCIBLE` for a run that does not come out the same.
 */
export async function testOf(
  journal: Pick<Journal, 'snapshot' | 'history' | 'valueOf'>,
  run: string,
  { address, by, plain = false }: TestExportOptions,
): Promise<ExportedTest> {
  const snapshot = await journal.snapshot(run)
  const recording = await reproducible(snapshot, await rowsOf(journal, snapshot))
  const { values, omitted } = await readValues(journal, snapshot)
  const startedAt = isoTime(snapshot.startedAt)
  const input = { recording, snapshot, address, by, values, omitted, startedAt, plain }
  return {
    source: sourceOf(input),
    kind: recording.kind,
    nodes: recording.run.nodes.length,
    attempts: recording.starts.length,
  }
}

function isoTime(wallTime: number): string {
  // oxlint-disable-next-line no-restricted-globals -- a time as text, not the time of day
  return new Date(wallTime).toISOString()
}

async function rowsOf(
  journal: Pick<Journal, 'history'>,
  { id, position }: RunSnapshot,
): Promise<readonly HistoryEntry[]> {
  const rows: HistoryEntry[] = []
  for await (const row of journal.history(id)) {
    if (row.position > position) break
    rows.push(row)
  }
  return lastSession(rows)
}

const kinds: readonly RecordingKind[] = ['free', 'held']

/** The first kind of recording that comes out as the run did: a test that fails at once is of no use. */
async function reproducible(
  snapshot: RunSnapshot,
  rows: readonly HistoryEntry[],
): Promise<Recording> {
  let problem = ''
  for (const kind of kinds) {
    const recording = makeRecording(kind, snapshot, rows)
    problem = await differenceOf(recording)
    if (problem === '') return recording
  }
  throw new HeddleError('HDL_NOT_REPRODUCIBLE', { run: snapshot.id, problem })
}

async function differenceOf(recording: Recording): Promise<string> {
  const clock = new VirtualClock()
  try {
    const replay = await replayRun(recording.run, { clock, random: seededRandom(1) })
    const { starts, ends, states } = recording
    if (!isDeepStrictEqual(replay.starts, starts)) return different('start', starts, replay.starts)
    if (!isDeepStrictEqual(replay.ends, ends)) return different('end', ends, replay.ends)
    for (const [name, state] of states) {
      const played = replay.states.get(name)
      if (played !== state) return `"${name}" is ${played ?? 'not there'} and was ${state}`
    }
    return ''
  } catch (error) {
    return String(error)
  }
}

function different(what: string, recorded: readonly string[], played: readonly string[]): string {
  const i = recorded.findIndex((name, at) => played[at] !== name)
  const at = i < 0 ? recorded.length : i
  const show = (name: string | undefined): string => (name === undefined ? 'nothing' : `"${name}"`)
  return `${what} ${at + 1} is ${show(played[at])} and was ${show(recorded[at])}`
}

/** Longer results than this, and more of them, are left out: a test is for reading. */
const longestValue = 200
const mostCharacters = 100_000
const readsAtOnce = 16

async function readValues(
  journal: Pick<Journal, 'valueOf'>,
  { id, nodes }: RunSnapshot,
): Promise<{ readonly values: ReadonlyMap<string, string>; readonly omitted: number }> {
  const values = new Map<string, string>()
  const having = nodes.filter(({ hasValue }) => hasValue)
  let room = mostCharacters
  let omitted = 0
  for (let i = 0; i < having.length; i += readsAtOnce) {
    const some = having.slice(i, i + readsAtOnce)
    if (room <= 0) {
      omitted += some.length
      continue
    }
    const read = await Promise.all(some.map(({ name }) => journal.valueOf(id, name)))
    for (const [k, { name, redact }] of some.entries()) {
      if (read[k] === undefined) continue
      const text = literalOf(redactValue(read[k], redact), longestValue)
      if (text === undefined) omitted++
      else values.set(name, text)
      room -= text?.length ?? 0
    }
  }
  return { values, omitted }
}
