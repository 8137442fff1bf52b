import { hostname } from 'node:os'
import type { Graph } from '../graph/graph.ts'
import type { Journal } from '../journal/journal.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { headersOf } from './compare.ts'
import { Recorder } from './recorder.ts'
import { findRun, finishedNodes } from './resume.ts'

export interface JournalOptions {
  /** Where the run is recorded: `sqlite:runs.db`, `memory`, or a journal that the caller opened and closes. */
  readonly journal?: string | Journal
  /** Goes on with a run of the journal: its id, or `true` for the last that has not ended. */
  readonly resume?: string | true
  /** Resumes although the graph has changed. What stands unchanged is kept, the rest runs. */
  readonly allowChanges?: boolean
  /** What the run is called in lists. */
  readonly title?: string
}

/** A run's connection to its journal. */
export interface Session {
  readonly runId: string
  readonly recorder: Recorder
  /** Nodes that an earlier process finished, with their results. */
  readonly finished: ReadonlyMap<string, unknown>
  /** Makes everything durable and lets go of the journal. */
  close(): Promise<void>
}

export async function openSession(
  graph: Graph,
  options: JournalOptions & { readonly limits: Readonly<Record<string, unknown>> },
  kernel: Kernel,
): Promise<Session | undefined> {
  const { journal: where, resume, allowChanges = false } = options
  if (where === undefined) return undefined
  // Loaded only here: most programs run without a journal and should not pay for SQLite at their start.
  const { openJournal } = await import('../journal/open.ts')
  const { newRunId } = await import('../journal/run-id.ts')
  await using opened = new AsyncDisposableStack()
  const journal =
    typeof where === 'string' ? opened.use(await openJournal(where, { kernel })) : where
  const by = { pid: process.pid, host: hostname(), command: process.argv.slice(1).join(' ') }

  let finished: ReadonlyMap<string, unknown> = new Map()
  let runId: string
  if (resume === undefined) {
    runId = newRunId(kernel)
  } else {
    const run = await findRun(journal, resume)
    runId = run.id
    finished = await finishedNodes(journal, run, graph, allowChanges)
  }
  const writer = opened.use(
    resume === undefined
      ? await journal.openRun({
          id: runId,
          title: options.title ?? 'run',
          startedAt: kernel.clock.wallTime(),
          ...by,
          options: options.limits,
          nodes: headersOf(graph),
        })
      : await journal.resumeRun(runId, by),
  )
  const held = opened.move()
  return {
    runId,
    recorder: new Recorder(writer, kernel.clock),
    finished,
    close: async () => {
      await using _held = held
      await writer.flush()
    },
  }
}
