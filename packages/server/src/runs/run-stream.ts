/**
 * The events of one run, sent live.
 *
 *   catching up ── all rows sent ─▶ following ── the run has ended ─▶ `end`
 *        └── too many rows ─▶ `reset`, then following       any ── drain ─▶ `end`
 *
 *  F1  The id of a frame is the position of the last row that it has taken in. A client that continues from it gets
 *      every later row exactly once.
 *  F2  At most ten frames a second. Several changes of a node within a frame are sent once, as its last state.
 *  F3  A client that is too far behind is sent `reset` with a position instead of rows: it loads the run again.
 *  F4  Without changes a beat is sent every ten seconds, so that both sides notice a connection that is gone.
 */
import { outcomeOf, type HistoryEntry, type Journal, type RunOverview } from '@heddle/core/lowlevel'
import { hasEnded, stateCode, type RunChange, type RunOutcome } from '../client/contract/runs.ts'
import type { EventStream } from './event-stream.ts'
import { firstLine } from './record-views.ts'

const frameEvery = 100
/** Milliseconds between two checks of a run in which nothing happens. */
const longestPause = 500
const beatEvery = 10_000
/** Rows that are sent to a client that catches up; more are answered with `reset`. */
const mostRows = 20_000

export interface StreamOptions {
  readonly journal: Pick<Journal, 'history' | 'overview'>
  readonly run: string
  /** The last row that the client knows. */
  readonly after: number | undefined
  /** `*`, the name of a node, or undefined. */
  readonly log: string | undefined
  /** Wall time. */
  readonly now: () => number
}

/**
 * Sends frames until the run has ended or the stream is closed.
 *
 * *Cancellation*: by the end of the stream.
 */
export async function streamRun(stream: EventStream, options: StreamOptions): Promise<void> {
  const { journal, run, now } = options
  let overview = await journal.overview(run)
  // Without a position the client has just loaded nothing: it gets what happens from now on.
  let position = options.after ?? overview.rows[1]
  let shown: RunOutcome | undefined
  let pause = frameEvery
  let beatAt = now() + beatEvery
  while (!stream.isClosed) {
    const rows = await readRows(journal, run, position)
    overview = await journal.overview(run)
    if (rows === 'too many') {
      position = overview.rows[1]
      shown = undefined
      await stream.send({ event: 'reset', id: position, data: { position } })
      continue
    }
    const outcome = outcomeOf(overview)
    if (rows.length > 0 || outcome !== shown) {
      position = rows.at(-1)?.position ?? position
      const change = changeOf(rows, overview, { position, log: options.log, at: now() })
      await stream.send({
        event: 'change',
        id: position,
        data: outcome === shown ? change : { ...change, outcome },
      })
      shown = outcome
      pause = frameEvery
      beatAt = now() + beatEvery
    } else {
      pause = Math.min(longestPause, pause * 2)
      if (now() >= beatAt) {
        await stream.send({ event: 'beat', id: position, data: { position, at: now() } })
        beatAt = now() + beatEvery
      }
    }
    if (hasEnded(outcome) && position >= overview.rows[1]) {
      await stream.send({ event: 'end', id: position, data: { reason: 'finished' } })
      return
    }
    await stream.pause(pause)
  }
}

async function readRows(
  journal: StreamOptions['journal'],
  run: string,
  from: number,
): Promise<HistoryEntry[] | 'too many'> {
  const rows: HistoryEntry[] = []
  for await (const entry of journal.history(run, { from })) {
    if (rows.length === mostRows) return 'too many'
    rows.push(entry)
  }
  return rows
}

interface ChangeInput {
  readonly position: number
  readonly log: string | undefined
  readonly at: number
}

/** F2: the last row of each node. */
function changeOf(
  rows: readonly HistoryEntry[],
  { counts }: Pick<RunOverview, 'counts'>,
  { position, log, at }: ChangeInput,
): RunChange {
  const nodes = new Map<string, RunChange['nodes'][number]>()
  const added: RunChange['added'] = []
  const lines: RunChange['log'] = []
  for (const row of rows) {
    switch (row.kind) {
      case 'nodes':
        for (const { name, job, place, after } of row.added) {
          added.push({ name, job, place, after: [...after] })
        }
        break
      case 'node': {
        const error = row.error === undefined ? null : firstLine(row.error.message)
        nodes.set(row.node, [row.node, stateCode[row.state], row.attempt, row.at, error])
        break
      }
      case 'log':
        if (log === '*' || log === row.node) {
          lines.push([row.position, row.node, row.attempt, row.at, row.text])
        }
        break
      case 'run':
      case 'part':
        break
    }
  }
  return {
    position,
    at: rows.at(-1)?.at ?? at,
    counts,
    added,
    nodes: [...nodes.values()],
    log: lines,
    progress: [],
  }
}
