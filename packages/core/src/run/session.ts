/**
 * The connection of a run to its journal: which run of the journal it is, and what is to be done.
 *
 * A key (docs/guide/resume.md), at its start:
 *
 *   no run has it ──▶ a new run          running ──▶ waits for its end, then looks again
 *   interrupted ──▶ resumed              succeeded ──▶ its recorded result
 *   failed, cancelled ──▶ its recorded result; with `resume`, resumed
 *
 * With `from` too, the new run has the key; only a run that was made from the same node is continued or answered.
 *
 * Invariants, quoted by the tests:
 *  S1  Callers with one key make one run, in however many processes they start, and all get its result.
 *  S2  A caller that waits for a run of another process looks at it at least once a second, and takes it over when
 *      that process is gone.
 *  S3  A run of another graph under the key is never run, resumed or answered: `HDL_GRAPH_CHANGED`.
 *  S4  While the journal cannot be written nothing new starts. The run continues when it can be written again, and ends
 *      with the error when that takes too long.
 */
import { hostname } from 'node:os'
import type { ArtifactStore } from '../artifacts/artifact-store.ts'
import { HeddleError, cancelled, isError } from '../errors.ts'
import { chosenNodes, type Graph } from '../graph/graph.ts'
import type {
  Journal,
  JournalRetry,
  JournalTrouble,
  NodeHeader,
  PartEntry,
  PartsOptions,
  RunHolder,
  RunSnapshot,
  RunSummary,
  RunWriter,
} from '../journal/journal.ts'
import { CleanupStack } from '../kernel/cleanup.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { pauseFor } from '../kernel/wait-for.ts'
import { commandLine } from '../journal/command-line.ts'
import { openJournal } from '../journal/open.ts'
import { newRunId } from '../journal/run-id.ts'
import { isEnd, isHeld } from '../journal/states.ts'
import { heldError } from '../journal/summary.ts'
import type { RunResult } from '../scheduler/result.ts'
import type { Scheduler } from '../scheduler/scheduler.ts'
import { headersOf } from './compare.ts'
import { useJournal } from './named-journal.ts'
import { Recorder } from './recorder.ts'
import { recordedResult } from './recorded.ts'
import { Fork, type ForkedFrom } from './fork.ts'
import { findRun, hasWorkLeft } from './find-run.ts'
import type { EndedNode, NodePast, Regrown } from './node-past.ts'
import { changedNodes, checkSameGraph, continueRun } from './resume.ts'
import { Signals } from './signals.ts'
import { beginJobs, type BeginJob } from './starts.ts'
import type { ValidParts } from './valid-parts.ts'

/** Milliseconds between two looks at a run of another process. */
const lookTime = 500

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
  /** Resumes although the graph has changed. What stands unchanged is kept, the rest runs. */
  readonly allowChanges?: boolean
  /**
   * Makes a new run from a recorded one, that of `resume` or the last of this title: this node, what is computed from it and what
   * has not succeeded run, the other results are used again. The recorded run stays as it is.
   */
  readonly from?: string
  /** What the run is called in lists. */
  readonly title?: string
  /**
   * The module that made the graph and the arguments it was called with. They are recorded with a new run, so that
   * `heddle runs retry` calls the same module with the same arguments.
   */
  readonly module?: RunModule
  /** How long a failed write is tried again before the run ends with its error. For a journal that is named. */
  readonly journalRetry?: JournalRetry
  /**
   * Called when the journal cannot be written, which pauses the run, when that is final, and with undefined when it
   * can be written again.
   */
  readonly onJournalTrouble?: (trouble: JournalTrouble | undefined) => void
}

export interface SessionOptions extends JournalOptions {
  readonly limits: Readonly<Record<string, unknown>>
  /** Ends the wait for a run of another process. */
  readonly signal?: AbortSignal | undefined
}

/** A run's connection to its journal. */
export interface Session {
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
   * Announces the nodes of a sub-graph. Returns what an earlier process finished of it, with the results.
   * @throws `HDL_GRAPH_CHANGED`.
   */
  growInto(parent: string, headers: readonly NodeHeader[]): Promise<Regrown>
  /** The rows of the parts of a node so far that stand (R7). */
  parts(node: string, options?: PartsOptions): AsyncIterable<PartEntry>
  readonly signals: Signals
  /** Posts a signal to the run itself: it is durable when this resolves. @throws what the journal refuses. */
  send(name: string, value: unknown): Promise<void>
  /** Where artifacts of the run are written, if the journal has a place for them. */
  readonly artifacts: ArtifactStore | undefined
  /** From here on messages and failed writes steer the run. */
  steer(scheduler: Pick<Scheduler, 'pause' | 'resume' | 'cancel' | 'state'>): void
  /** Makes everything durable and lets go of the journal. */
  close(): Promise<void>
}

/** A run that needs nothing done here. */
export interface RecordedRun {
  readonly runId: string
  readonly recorded: RunResult
}

/**
 * Opens the journal, and in it a new run or the one to resume; or reads the result of a run that has ended.
 *
 * When it fails nothing is left open, and the run in the journal is as it was.
 *
 * *Cancellation*: by `signal`, while it waits for a run of another process: that run is not touched.
 */
export async function openSession(
  graph: Graph,
  options: SessionOptions,
  kernel: Kernel,
): Promise<Session | RecordedRun> {
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
  const given: ConnectOptions = {
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

interface ConnectOptions extends SessionOptions {
  /** The nodes that the graph is a part for. */
  readonly only: readonly string[] | undefined
}

async function connect(
  where: string | Journal,
  nodes: readonly NodeHeader[],
  options: ConnectOptions,
  kernel: Kernel,
): Promise<Session | RecordedRun> {
  await using opened = new CleanupStack()
  let journal: Journal
  if (typeof where !== 'string') journal = where
  else if (where === 'memory') journal = opened.use(await openJournal(where, { kernel }))
  else journal = opened.use(await useJournal(where, kernel, options.journalRetry ?? {})).value
  const connection = new Connection(journal, nodes, options, kernel)
  const found = await connection.find()
  if ('recorded' in found) return found
  const { writer, finished, past, earlier, setAside = new Map(), wasInterrupted = false } = found
  const { parts } = found
  const signals = new Signals()
  opened.use(writer)
  const held = opened.move()
  const recorder = new Recorder(writer, kernel.clock, { earlier, writesStarts: wasInterrupted })
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

/** A run that is to be written here. */
interface OpenedRun {
  readonly writer: RunWriter
  readonly finished: ReadonlyMap<string, unknown>
  /** Of a run that an earlier process has begun. */
  readonly past?: NodePast
  readonly ended?: readonly EndedNode[]
  readonly parts?: ValidParts
  /** Milliseconds in which earlier processes ran it. */
  readonly earlier?: number
  readonly setAside?: ReadonlyMap<string, number>
  readonly wasInterrupted?: boolean
}

/** What was handed in so far is read as well. */
async function* readParts(
  journal: Journal,
  writer: RunWriter,
  node: string,
  options: PartsOptions,
): AsyncGenerator<PartEntry, void, undefined> {
  await writer.flush()
  yield* journal.parts(writer.runId, node, options)
}

class Connection {
  readonly #journal: Journal
  readonly #nodes: readonly NodeHeader[]
  readonly #options: ConnectOptions
  readonly #kernel: Kernel
  readonly #by: RunHolder

  constructor(
    journal: Journal,
    nodes: readonly NodeHeader[],
    options: ConnectOptions,
    kernel: Kernel,
  ) {
    this.#journal = journal
    this.#nodes = nodes
    this.#options = options
    this.#kernel = kernel
    this.#by = { pid: process.pid, host: hostname(), command: commandLine() }
  }

  /** The run that the options mean. */
  find(): Promise<OpenedRun | RecordedRun> {
    const { from, key } = this.#options
    const make = (): Promise<OpenedRun> => (from === undefined ? this.#open() : this.#fork(from))
    if (key !== undefined) return this.#byKey(make)
    return from === undefined ? this.#once() : make()
  }

  /** K1: a new run with results of another one. */
  async #fork(node: string): Promise<OpenedRun> {
    const { resume = true, title, only, allowChanges = false } = this.#options
    const { clock } = this.#kernel
    const which = resume === false ? true : resume
    const source = await findRun(this.#journal, which, { title, only, isSource: true })
    if (isHeld(source.state)) throw heldError(source.id, source)
    const changed = await changedNodes(source, this.#nodes, { allowChanges, clock })
    const fork = await Fork.of(source, this.#nodes, node, changed, clock)
    const forkedFrom: ForkedFrom = { run: source.id, node }
    const { writer } = await this.#open({ forkedFrom })
    try {
      await fork.copyInto(writer, this.#journal, clock)
      await writer.flush()
      return await this.#continue(await this.#journal.snapshot(writer.runId), writer)
    } catch (error) {
      await writer[Symbol.asyncDispose]()
      throw error
    }
  }

  /** A new run, or the one that `resume` means. */
  async #once(): Promise<OpenedRun | RecordedRun> {
    const { resume = false, title, only } = this.#options
    if (resume === false) return this.#open()
    const run = await findRun(this.#journal, resume, { title, only, isSource: false })
    return run.state === 'finished' && !hasWorkLeft(run) ? this.#answer(run) : this.#continue(run)
  }

  /** S1: looks again as often as another caller was quicker. */
  async #byKey(make: () => Promise<OpenedRun>): Promise<OpenedRun | RecordedRun> {
    for (;;) {
      const found = await this.#findKey()
      if (found === undefined) {
        const opened = await make().catch(unless('HDL_KEY_TAKEN'))
        if (opened !== undefined) return opened
      } else if (isHeld(found.state)) {
        const run = await this.#journal.snapshot(found.id).catch(unless('HDL_UNKNOWN_RUN'))
        if (run !== undefined) this.#checkSource(run)
        if (run !== undefined) await checkSameGraph(run, this.#nodes, this.#kernel.clock)
      } else {
        const done = await this.#takeEnded(found)
        if (done !== undefined) return done
      }
      await this.#pause()
    }
  }

  /** Undefined when it has changed since it was found. */
  async #takeEnded(found: RunSummary): Promise<OpenedRun | RecordedRun | undefined> {
    const { resume = false } = this.#options
    const run = await this.#journal.snapshot(found.id).catch(unless('HDL_UNKNOWN_RUN'))
    if (run === undefined) return undefined
    this.#checkSource(run)
    // Beside `from`, an id names the run that results are taken from.
    const isOpen = run.state === 'interrupted' || (resume === true && hasWorkLeft(run))
    if (!isOpen) return isEnd(run.state) ? this.#answer(run) : undefined
    return this.#continue(run).catch(unless('HDL_LOCKED', 'HDL_RUN_ENDED'))
  }

  /** With `from`, the run that has the key must be the one that was made for it. */
  #checkSource({ id, options }: RunSnapshot): void {
    const { from, resume, key } = this.#options
    if (from === undefined) return
    const { run, node } = (options['forkedFrom'] ?? {}) as Partial<ForkedFrom>
    if (node === from && (typeof resume !== 'string' || resume === run)) return
    throw new HeddleError('HDL_KEY_TAKEN', { key: key!, run: id })
  }

  async #findKey(): Promise<RunSummary | undefined> {
    const [found] = await this.#journal.runs({ key: this.#options.key!, limit: 1 })
    return found
  }

  async #open(more: Readonly<Record<string, unknown>> = {}): Promise<OpenedRun> {
    const { title = 'run', limits, key, module } = this.#options
    const startedAt = this.#kernel.clock.wallTime()
    const writer = await this.#journal.openRun({
      id: newRunId(this.#kernel),
      ...(key !== undefined && { key }),
      title,
      startedAt,
      ...this.#by,
      options: { ...limits, ...(module !== undefined && { module }), ...more },
      nodes: this.#nodes,
    })
    return { writer, finished: new Map() }
  }

  /** `held`: of a run that this process has opened. */
  async #continue(run: RunSnapshot, held?: RunWriter): Promise<OpenedRun> {
    const { allowChanges = false } = this.#options
    const { clock } = this.#kernel
    const from = await continueRun(this.#journal, run, this.#nodes, { allowChanges, clock })
    const writer = held ?? (await this.#journal.resumeRun(run.id, this.#by))
    from.writeChanges(writer)
    return { ...from, writer, earlier: run.elapsed ?? 0 }
  }

  async #answer(run: RunSnapshot): Promise<RecordedRun> {
    const { clock } = this.#kernel
    await checkSameGraph(run, this.#nodes, clock).catch((error: unknown) => {
      if (!isError(error, 'HDL_GRAPH_CHANGED') || this.#options.allowChanges !== true) throw error
      throw new HeddleError('HDL_RUN_FINISHED', { run: run.id, nodes: run.nodes.length })
    })
    return { runId: run.id, recorded: await recordedResult(this.#journal, run, clock) }
  }

  /** S2. */
  async #pause(): Promise<void> {
    const { signal = new AbortController().signal } = this.#options
    await pauseFor(lookTime, this.#kernel.clock, signal)
    if (signal.aborted) {
      throw cancelled(`The wait for the run with the key "${this.#options.key}"`, signal.reason)
    }
  }
}

/** Catches errors with these codes: another caller was quicker. */
function unless(...codes: readonly string[]): (error: unknown) => undefined {
  return (error) => {
    if (codes.includes((error as { code?: string }).code ?? '')) return undefined
    throw error
  }
}

/** S4, and cancels that other processes have sent. */
function steer(
  writer: RunWriter,
  scheduler: Parameters<Session['steer']>[0],
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
    onMessage: (message, take) => {
      if (message.kind === 'signal') signals.receive(message, take)
      else scheduler.cancel({ source: 'user', by: message.by })
    },
  })
}
