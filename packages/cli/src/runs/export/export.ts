/** `heddle runs export`: a recorded run as a test. */
import { writeFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { HeddleError } from '@heddle/core'
import {
  seededRandom,
  type HistoryEntry,
  type Journal,
  type RunSnapshot,
} from '@heddle/core/lowlevel'
import { replayRun, VirtualClock } from '@heddle/core/testing'
import { exitCodes, type ExitCode } from '../../exit-codes.ts'
import { quote } from '../../run/resume-command.ts'
import { readVersion } from '../../version.ts'
import { span } from '../../view/line.ts'
import { plural } from '../../view/format.ts'
import { findRun } from '../find-run.ts'
import { look, type LookSettings } from '../look.ts'
import { literalOf } from './literal.ts'
import { lastSession, makeRecording, type Recording, type RecordingKind } from './recording.ts'
import { sourceOf } from './source.ts'

export interface ExportSettings extends LookSettings {
  readonly run: string
  /** Undefined: to standard output. */
  readonly out: string | undefined
  /** Overwrites a file that is there. */
  readonly force: boolean
}

/** *Cancellation*: none; it reads what is there. */
export function exportRun(settings: ExportSettings): Promise<void> {
  return look(settings, async (surface): Promise<ExitCode> => {
    const { journal, address } = surface
    const { out } = settings
    const { id } = await findRun(journal, settings.run)
    const snapshot = await journal.snapshot(id)
    const recording = await reproducible(snapshot, await rowsOf(journal, snapshot))
    const { values, omitted } = await readValues(journal, snapshot)
    const source = sourceOf({
      recording,
      snapshot,
      address,
      version: await readVersion(),
      values,
      omitted,
      startedAt: isoTime(snapshot.startedAt),
      plain: out !== undefined && /\.[cm]?js$/.test(out),
    })
    if (out === undefined) {
      if (surface.json) surface.answer({ ok: true, run: id, kind: recording.kind, source })
      else surface.print(source)
      return exitCodes.ok
    }
    await write(out, source, settings.force)
    if (surface.json) {
      surface.answer({ ok: true, run: id, kind: recording.kind, file: out })
    } else {
      const what = `${out}: ${plural(recording.run.nodes.length, 'job')}, ${plural(recording.starts.length, 'attempt')}`
      surface.tell([[span(what)], [span(`Run it with: node --test ${quote(out)}`, 'dim')]])
    }
    return exitCodes.ok
  })
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

/** The first kind of recording that comes out as the run did: a test that fails at once helps nobody. */
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
  const names = nodes.filter(({ hasValue }) => hasValue).map(({ name }) => name)
  let room = mostCharacters
  let omitted = 0
  for (let i = 0; i < names.length; i += readsAtOnce) {
    const some = names.slice(i, i + readsAtOnce)
    if (room <= 0) {
      omitted += some.length
      continue
    }
    const read = await Promise.all(some.map((name) => journal.valueOf(id, name)))
    for (const [k, name] of some.entries()) {
      if (read[k] === undefined) continue
      const text = literalOf(read[k], longestValue)
      if (text === undefined) omitted++
      else values.set(name, text)
      room -= text?.length ?? 0
    }
  }
  return { values, omitted }
}

async function write(file: string, source: string, force: boolean): Promise<void> {
  try {
    await writeFile(file, source, { flag: force ? 'w' : 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      const expected = 'a file that is not there yet, or --force'
      throw new HeddleError('HDL_BAD_OPTION', { option: 'out', value: file, expected })
    }
    const { message } = error as Error
    throw new HeddleError('HDL_STORE_FAILED', { store: file, action: 'be written', cause: message })
  }
}
