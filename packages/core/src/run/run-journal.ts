/**
 * The part of a journal that one run writes and reads.
 *
 * Invariants, quoted by the tests (S1 to S3: run-opener.ts):
 *  S4  While the journal cannot be written nothing new starts. The run continues when it can be written again, and ends
 *      with the error when that takes too long.
 */
import type { ArtifactStore } from '../artifacts/artifact-store.ts'
import { HeddleError, isError } from '../errors.ts'
import { chosenNodes, type Graph } from '../graph/graph.ts'
import type {
  Journal,
  JournalRetry,
  JournalTrouble,
  NodeHeader,
  PartEntry,
  PartsOptions,
  RunWriter,
} from '../journal/journal.ts'
import { openJournal } from '../journal/open-journal.ts'
import { CleanupStack } from '../kernel/cleanup.ts'
import type { Kernel } from '../kernel/kernel.ts'
import type { Scheduler } from '../scheduler/scheduler.ts'
import { headersOf } from './compare-graphs.ts'
import { useJournal } from './named-journal.ts'
import type { EndedNode, Regrown } from './node-past.ts'
import { Recorder } from './recorder.ts'
import { RunOpener, type EndedRun, type OpenRunOptions } from './run-opener.ts'
import { Signals } from './signals.ts'
import { beginJobs, type BeginJob } from './starts.ts'

/** Where the graph of a run came from. */
export interface RunModule {
  /** An absolute path. */
  readonly file: string
  /** Absent where they must not be recorded, because one of them contains a password. */
  readonly args?: readonly string[]
}

export interface JournalOptions {
  /**
   * Where the run is recorded: `sqlite:runs.db`, `postgres://host/database`, `memory`, or a journal that the caller opened
   * and closes.
   */
  readonly journal?: string | Journal
  /**
   * Your name for this piece of work, unique in its journal. When a run has it already: a running one is waited for,
   * an interrupted one resumed, of one that has ended the recorded result is returned.
   */
  readonly key?: string
  /**
   * Resumes a run of the journal: its id, or `true` for the last of this title with something left to do. With `key`,
   * `true` resumes also a run that failed or was cancelled.
   */
  readonly resume?: string | boolean
  /** Resumes although the graph has changed. Unchanged results are kept, the rest runs. */
  readonly allowChanges?: boolean
  /**
   * Makes a new run from a recorded one, that of `resume` or the last of this title: this node, everything computed
   * from it and all nodes that have not succeeded run, the other results are reused. The recorded run is unchanged.
   */
  readonly from?: string
  /** Title of the run in lists. */
  readonly title?: string
  /**
   * The module that made the graph and the arguments it was called with. They are recorded with a new run, so that
   * `heddle runs retry` calls the same module with the same arguments.
   */
  readonly module?: RunModule
  /**
   * Whether the first 4,096 characters of the input of each node are recorded, for people who inspect the run. Fields
   * that `job({ redact })` names are never recorded. Default true.
   */
  readonly recordInputs?: boolean
  /** How long a failed write is tried again before the run ends with its error. For a journal that is named. */
  readonly journalRetry?: JournalRetry
  /**
   * Called when the journal cannot be written, which pauses the run, when that is final, and with undefined when it
   * can be written again.
   */
  readonly onJournalTrouble?: (trouble: JournalTrouble | undefined) => void
}

export interface RunJournalOptions extends JournalOptions {
  readonly limits: Readonly<Record<string, unknown>>
  /** Ends the wait for a run of another process. */
  readonly signal?: AbortSignal | undefined
}

/** A run's connection to its journal. */
export interface RunJournal {
  readonly runId: string
  readonly recorder: Recorder
  /** Nodes that an earlier process finished, with their results. */
  readonly finished: ReadonlyMap<string, unknown>
  /** Whether an earlier process has begun the run. */
  readonly isResumed: boolean
  /** Nodes that are not run, and how often the process has ended while they ran. */
  readonly setAside: ReadonlyMap<string, number>
  readonly begin: BeginJob
  /** Nodes of sub-graphs that an earlier process finished, with the sub-graphs themselves. */
  readonly ended: readonly EndedNode[]
  /**
   * Announces the nodes of a sub-graph. Returns the nodes that an earlier process finished, with their results.
   * @throws `HDL_GRAPH_CHANGED`.
   */
  growInto(parent: string, headers: readonly NodeHeader[]): Promise<Regrown>
  /** The rows of the parts of a node so far that stand (R7). */
  parts(node: string, options?: PartsOptions): AsyncIterable<PartEntry>
  readonly signals: Signals
  /** Posts a signal to the run itself: it is durable when this resolves. @throws the journal's refusal. */
  send(name: string, value: unknown): Promise<void>
  /** Where artifacts of the run are written, if the journal has a place for them. */
  readonly artifacts: ArtifactStore | undefined
  /** From here on messages and failed writes steer the run. */
  steer(scheduler: Pick<Scheduler, 'pause' | 'resume' | 'cancel' | 'state'>): void
  /** Makes everything durable and lets go of the journal. */
  close(): Promise<void>
}

/**
 * Opens the journal, and in it a new run or the one to resume; or reads the result of a run that has ended.
 *
 * When it fails nothing is left open, and the run in the journal is as it was.
 *
 * *Cancellation*: by `signal`, while it waits for a run of another process: that run is not touched.
 */
export async function openRunJournal(
  graph: Graph,
  options: RunJournalOptions,
  kernel: Kernel,
): Promise<RunJournal | EndedRun> {
  const { journal: where, resume = false, key, journalRetry } = options
  if (where === undefined) {
    const { from } = options
    const named = from === undefined ? ['resume', resume] : ['from', from]
    const [option, value] = (key === undefined ? named : ['key', key]) as [string, unknown]
    const expected = 'absent, or with the journal that holds the run'
    throw new HeddleError('HDL_BAD_OPTION', { option, value, expected })
  }
  if (typeof resume === 'string' && key !== undefined && options.from === undefined) {
    const expected = 'true with a key, which names the run'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'resume', value: resume, expected })
  }
  if (journalRetry !== undefined && typeof where !== 'string') {
    const expected = 'absent for a journal that is open: openJournal() takes it'
    throw new HeddleError('HDL_BAD_OPTION', {
      option: 'journalRetry',
      value: journalRetry,
      expected,
    })
  }
  const nodes = await headersOf(graph, kernel.clock)
  const only = chosenNodes(graph)
  const given: OpenRunOptions = {
    ...options,
    only,
    limits: only === undefined ? options.limits : { ...options.limits, only },
  }
  try {
    return await connect(where, nodes, given, kernel)
  } catch (error) {
    // The file of a journal that was kept open has gone meanwhile; nothing of this run was in it.
    if (!isError(error, 'HDL_JOURNAL_GONE') || typeof where !== 'string') throw error
    return connect(where, nodes, given, kernel)
  }
}

async function connect(
  where: string | Journal,
  nodes: readonly NodeHeader[],
  options: OpenRunOptions,
  kernel: Kernel,
): Promise<RunJournal | EndedRun> {
  await using opened = new CleanupStack()
  let journal: Journal
  if (typeof where !== 'string') journal = where
  else if (where === 'memory') journal = opened.use(await openJournal(where, { kernel }))
  else journal = opened.use(await useJournal(where, kernel, options.journalRetry ?? {})).value
  const found = await new RunOpener(journal, nodes, options, kernel).open()
  if ('recorded' in found) return found
  const { writer, finished, past, earlier, setAside = new Map(), wasInterrupted = false } = found
  const { parts } = found
  const signals = new Signals()
  opened.use(writer)
  const held = opened.move()
  const recorder = new Recorder(writer, kernel.clock, {
    earlier,
    writesStarts: wasInterrupted,
    inputs: options.recordInputs,
  })
  return {
    runId: writer.runId,
    recorder,
    finished,
    isResumed: past !== undefined,
    setAside,
    begin: beginJobs(writer, wasInterrupted),
    ended: found.ended ?? [],
    growInto: async (parent, headers) => {
      if (past === undefined) {
        if (headers.length > 0) writer.addNodes(headers)
        return { finished: new Map<string, unknown>(), ended: [] }
      }
      const regrown = await past.compare(parent, headers)
      regrown.writeChanges(writer)
      return regrown
    },
    parts: (node, which) => {
      const from = Math.max(which?.from ?? 0, parts?.from(node) ?? 0)
      return readParts(journal, writer, node, { ...which, from })
    },
    signals,
    send: async (name, value) => {
      if (journal.post === undefined) {
        const expected = 'a journal that takes messages'
        throw new HeddleError('HDL_BAD_OPTION', { option: 'journal', value: journal, expected })
      }
      await journal.post(writer.runId, { kind: 'signal', name, value, by: 'send()' })
    },
    artifacts: journal.artifacts,
    steer: (scheduler) => steer(writer, scheduler, signals, options),
    close: async () => {
      // In one turn: the end of the run, and that no process holds it any more, become durable together.
      const outcomes = await Promise.allSettled([writer.flush(), held[Symbol.asyncDispose]()])
      const lost = outcomes.find((each) => each.status === 'rejected')
      if (lost !== undefined) throw lost.reason
    },
  }
}

/** Rows added so far are read as well. */
async function* readParts(
  journal: Journal,
  writer: RunWriter,
  node: string,
  options: PartsOptions,
): AsyncGenerator<PartEntry, void, undefined> {
  await writer.flush()
  yield* journal.parts(writer.runId, node, options)
}

/** S4, and cancels that other processes have sent. */
function steer(
  writer: RunWriter,
  scheduler: Parameters<RunJournal['steer']>[0],
  signals: Signals,
  { onJournalTrouble }: JournalOptions,
): void {
  let isPaused = false
  writer.watch({
    onTrouble: (trouble) => {
      if (trouble === undefined) {
        if (isPaused) scheduler.resume()
        isPaused = false
      } else if (trouble.isFinal) {
        const reason = 'the journal cannot be written'
        scheduler.cancel({ source: 'shutdown', reason, abort: true })
      } else if (scheduler.state === 'running') {
        isPaused = true
        scheduler.pause()
      }
      onJournalTrouble?.(trouble)
    },
    onMessage: (message, mail) => {
      if (message.kind === 'signal') signals.receive(message, mail)
      else scheduler.cancel({ source: 'user', by: message.by })
    },
  })
}
