/**
 * Opens the run of a journal that the options of run() mean: a new one, one to resume, or one that has ended.
 *
 * A key (docs/guide/resume.md), at its start:
 *
 *   no run has it ──▶ a new run          running ──▶ waits for its end, then looks again
 *   interrupted ──▶ resumed              succeeded ──▶ its recorded result
 *   failed, cancelled ──▶ its recorded result; with `resume`, resumed
 *
 * A run that is pruned while it is read has given its key back: the next look finds the key free.
 *
 * With `from` too, the new run has the key; only a run that was made from the same node is continued or answered.
 *
 * Invariants, quoted by the tests:
 *  S1  Callers with one key make one run, in however many processes they start, and all get its result.
 *  S2  A caller that waits for a run of another process checks it at least once a second, and takes it over when
 *      that process is gone.
 *  S3  A run of another graph under the key is never run, resumed or answered: `HDL_GRAPH_CHANGED`.
 */
import { hostname } from 'node:os'
import { HeddleError, cancelled, isError } from '../errors.ts'
import { isProcessGone } from '../files/process-alive.ts'
import { commandLine } from '../journal/command-line.ts'
import type {
  Journal,
  NodeHeader,
  RunHolder,
  RunSnapshot,
  RunSummary,
  RunWriter,
} from '../journal/journal.ts'
import { hasWorkLeft } from '../journal/run-outcome.ts'
import { newRunId } from '../journal/run-id.ts'
import { isEnd, isHeld } from '../journal/states.ts'
import { heldError } from '../journal/run-errors.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { pauseFor } from '../kernel/wait-for.ts'
import type { RunResult } from '../scheduler/result.ts'
import { findEarlierRun } from './find-earlier-run.ts'
import { Fork, type ForkedFrom } from './fork.ts'
import type { EndedNode, NodePast } from './node-past.ts'
import { recordedResult } from './recorded-result.ts'
import { changedNodes, checkSameGraph, continueRun } from './resume.ts'
import type { RunJournalOptions } from './run-journal.ts'
import type { ValidParts } from './valid-parts.ts'

/** Milliseconds between two reads of a run that another process holds. */
const pollInterval = 500

export interface OpenRunOptions extends RunJournalOptions {
  /** The nodes that were given to `Graph.only()`. */
  readonly only: readonly string[] | undefined
}

/** A run that has ended: nothing is left to do but to return its recorded result. */
export interface EndedRun {
  readonly runId: string
  readonly recorded: RunResult
}

/** A run that is to be written here. */
export interface OpenedRun {
  readonly writer: RunWriter
  readonly finished: ReadonlyMap<string, unknown>
  /** Only for a run that an earlier process has begun. */
  readonly past?: NodePast
  readonly ended?: readonly EndedNode[]
  readonly parts?: ValidParts
  /** Milliseconds in which earlier processes ran it. */
  readonly earlier?: number
  readonly setAside?: ReadonlyMap<string, number>
  readonly wasInterrupted?: boolean
}

export class RunOpener {
  readonly #journal: Journal
  readonly #nodes: readonly NodeHeader[]
  readonly #options: OpenRunOptions
  readonly #kernel: Kernel
  readonly #by: RunHolder

  constructor(
    journal: Journal,
    nodes: readonly NodeHeader[],
    options: OpenRunOptions,
    kernel: Kernel,
  ) {
    this.#journal = journal
    this.#nodes = nodes
    this.#options = options
    this.#kernel = kernel
    this.#by = { pid: process.pid, host: hostname(), command: commandLine() }
  }

  /** The run that the options mean. */
  open(): Promise<OpenedRun | EndedRun> {
    const { from, key } = this.#options
    const make = (): Promise<OpenedRun> => (from === undefined ? this.#openNew() : this.#fork(from))
    if (key !== undefined) return this.#byKey(make)
    return from === undefined ? this.#once() : make()
  }

  /** K1: a new run with results of another one. */
  async #fork(node: string): Promise<OpenedRun> {
    const { resume = true, title, only, allowChanges = false } = this.#options
    const { clock } = this.#kernel
    const which = resume === false ? true : resume
    const source = await findEarlierRun(this.#journal, which, { title, only, isSource: true })
    if (isHeld(source.state)) throw heldError(source.id, source)
    const changed = await changedNodes(source, this.#nodes, { allowChanges, clock })
    const fork = await Fork.of(source, this.#nodes, node, changed, clock)
    const forkedFrom: ForkedFrom = { run: source.id, node }
    const { writer } = await this.#openNew({ forkedFrom })
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
  async #once(): Promise<OpenedRun | EndedRun> {
    const { resume = false, title, only } = this.#options
    if (resume === false) return this.#openNew()
    const found = await findEarlierRun(this.#journal, resume, { title, only, isSource: false })
    const run = await this.#whenFree(found)
    return run.state === 'finished' && !hasWorkLeft(run) ? this.#answer(run) : this.#continue(run)
  }

  /**
   * A run as its last process has left it: on PostgreSQL one that was killed holds it until its lease has run out.
   *
   * @throws `HDL_LOCKED` while its process lives, or may live.
   */
  async #whenFree(found: RunSnapshot): Promise<RunSnapshot> {
    if (!isHeld(found.state)) return found
    for (;;) {
      const run = await this.#journal.overview(found.id)
      if (!isHeld(run.state)) return this.#journal.snapshot(found.id)
      if (!isProcessGone(run)) throw heldError(run.id, run)
      await this.#pause(`The wait for run ${run.id}`)
    }
  }

  /** S1: looks for the run again when another caller has changed it meanwhile. */
  async #byKey(make: () => Promise<OpenedRun>): Promise<OpenedRun | EndedRun> {
    for (;;) {
      const found = await this.#findKey()
      if (found === undefined) {
        const opened = await make().catch(ignoring('HDL_KEY_TAKEN'))
        if (opened !== undefined) return opened
      } else if (isHeld(found.state)) {
        const run = await this.#journal.snapshot(found.id).catch(ignoring('HDL_UNKNOWN_RUN'))
        if (run !== undefined) this.#checkSource(run)
        if (run !== undefined) await checkSameGraph(run, this.#nodes, this.#kernel.clock)
      } else {
        const done = await this.#takeEnded(found)
        if (done !== undefined) return done
      }
      await this.#pause(`The wait for the run with the key "${this.#options.key}"`)
    }
  }

  /** Undefined when it has changed since it was found. */
  async #takeEnded(found: RunSummary): Promise<OpenedRun | EndedRun | undefined> {
    const { resume = false } = this.#options
    const run = await this.#journal.snapshot(found.id).catch(ignoring('HDL_UNKNOWN_RUN'))
    if (run === undefined) return undefined
    this.#checkSource(run)
    // Beside `from`, an id names the run that results are taken from.
    const isOpen = run.state === 'interrupted' || (resume === true && hasWorkLeft(run))
    if (!isOpen) {
      return isEnd(run.state) ? this.#answer(run).catch(ignoring('HDL_UNKNOWN_RUN')) : undefined
    }
    return this.#continue(run).catch(ignoring('HDL_LOCKED', 'HDL_RUN_ENDED', 'HDL_UNKNOWN_RUN'))
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

  async #openNew(more: Readonly<Record<string, unknown>> = {}): Promise<OpenedRun> {
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

  async #answer(run: RunSnapshot): Promise<EndedRun> {
    const { clock } = this.#kernel
    await checkSameGraph(run, this.#nodes, clock).catch((error: unknown) => {
      if (!isError(error, 'HDL_GRAPH_CHANGED') || this.#options.allowChanges !== true) throw error
      throw new HeddleError('HDL_RUN_FINISHED', { run: run.id, nodes: run.nodes.length })
    })
    return { runId: run.id, recorded: await recordedResult(this.#journal, run, clock) }
  }

  /** S2. */
  async #pause(what: string): Promise<void> {
    const { signal = new AbortController().signal } = this.#options
    await pauseFor(pollInterval, this.#kernel.clock, signal)
    if (signal.aborted) throw cancelled(what, signal.reason)
  }
}

/** For catch(): turns errors with these codes into undefined. Another caller was quicker. */
function ignoring(...codes: readonly string[]): (error: unknown) => undefined {
  return (error) => {
    if (codes.includes((error as { code?: string }).code ?? '')) return undefined
    throw error
  }
}
