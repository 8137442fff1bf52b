/**
 * A journal that lives as long as the process: for tests, and for runs that need no second life.
 *
 * Durable means written down here, so commit() waits for nothing but the encoding of a large value.
 * Everything is kept until the journal is dropped: its size is that of the runs it holds.
 */
import { throwIfAborted } from '../../kernel/abort.ts'
import { Life, type StopOptions } from '../../kernel/service.ts'
import { defaultQuota, type ArtifactStore } from '../../artifacts/artifact-store.ts'
import { MemoryArtifacts } from '../../artifacts/memory/memory-artifacts.ts'
import { HeddleError } from '../../errors.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { Slices } from '../../kernel/slices.ts'
import { checkHeader, checkHolder, checkNodes } from '../check-rows.ts'
import { collectPieces, decodeValue, encodePieces, encodeSignal } from '../encode.ts'
import { RunFold } from '../run-fold.ts'
import type {
  HistoryEntry,
  Journal,
  JournalStats,
  PartEntry,
  PartsOptions,
  PruneOptions,
  PruneReport,
  RunHeader,
  RunHolder,
  RunListOptions,
  RunListPage,
  RunMessage,
  RunOverview,
  RunSnapshot,
  RunSummary,
  RunWriter,
} from '../journal.ts'
import { outcomeOf, type RunOutcome } from '../run-outcome.ts'
import { labelsOf, listRuns } from '../run-list.ts'
import { checkPrune, PruneChoice } from '../prune.ts'
import { heldError, keyTaken, runLimit, type RunsOptions } from '../run-errors.ts'
import { stopDeadline, stopWriters } from '../stop-writers.ts'
import { MemoryRun, type StoredValue } from './memory-run.ts'
import { MemoryRunWriter } from './memory-writer.ts'

export class MemoryJournal implements Journal {
  readonly address = 'memory'
  readonly artifacts: ArtifactStore
  readonly #kernel: Kernel
  readonly #runs = new Map<string, MemoryRun>()
  #position = 0
  #lastMail = 0
  #commits = 0
  readonly #life: Life

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    const { clock } = kernel
    const writers = (): AsyncDisposable[] =>
      [...this.#runs.values()].flatMap(({ writer }) => (writer === undefined ? [] : [writer]))
    this.#life = new Life({
      what: 'The journal',
      clock,
      deadline: stopDeadline,
      stop: (enough) => stopWriters(writers(), clock, enough, async () => undefined),
    })
    this.artifacts = new MemoryArtifacts(kernel, defaultQuota)
  }

  async openRun(header: RunHeader): Promise<RunWriter> {
    this.#checkOpen()
    checkHeader(header)
    await checkNodes(header.nodes, this.#kernel.clock)
    const pieces = encodePieces('options', header.options, this.#kernel.clock)
    const options = await collectPieces(pieces)
    // No await from the lookup to the entry: if two callers come at the same time, one is refused.
    this.#checkOpen()
    if (this.#runs.has(header.id)) {
      throw new HeddleError('HDL_RUN_EXISTS', { run: header.id, address: this.address })
    }
    const holder = this.#byKey(header.key)
    if (holder !== undefined) throw keyTaken(header.key!, holder.header.id)
    const run = new MemoryRun(header, options)
    this.#runs.set(header.id, run)
    const writer = this.#writerOf(run)
    if (header.nodes.length > 0) writer.addNodes(header.nodes, header.startedAt)
    writer.begin(run.holder, header.startedAt)
    return writer
  }

  async resumeRun(id: string, by: RunHolder): Promise<RunWriter> {
    this.#checkOpen()
    checkHolder(by)
    const run = this.#find(id)
    if (run.writer !== undefined) throw heldError(id, run.holder)
    if (outcomeOf(run.summary()) === 'succeeded') {
      throw new HeddleError('HDL_RUN_ENDED', { action: `Resuming run ${id}` })
    }
    run.holder = { pid: by.pid, host: by.host, command: by.command }
    const writer = this.#writerOf(run)
    writer.begin(run.holder, this.#kernel.clock.wallTime())
    return writer
  }

  async runs(options: RunsOptions = {}): Promise<readonly RunSummary[]> {
    const found: RunSummary[] = []
    const limit = runLimit(options)
    const { key } = options
    for (const run of [...this.#runs.values()].reverse()) {
      if (key !== undefined && run.header.key !== key) continue
      if (found.length >= limit) break
      const summary = run.summary()
      if (options.state === undefined || options.state === summary.state) found.push(summary)
    }
    return found
  }

  async list(options: RunListOptions): Promise<RunListPage> {
    const all = [...this.#runs.values()]
    return listRuns(options, {
      read: (before, size) => {
        const end = Math.min(before, all.length)
        return all
          .slice(Math.max(0, end - size), end)
          .map((run, i) => ({ ...run.summary(), number: Math.max(0, end - size) + i, run }))
          .reverse()
      },
      labelsOf: async ({ run }) => labelsOf(await this.#decode(run.options, 'options')),
      summaryOf: ({ run }) => run.summary(),
    })
  }

  async tally(): Promise<Readonly<Partial<Record<RunOutcome, number>>>> {
    const counts: Partial<Record<RunOutcome, number>> = {}
    for (const run of this.#runs.values()) {
      const outcome = outcomeOf(run.summary())
      counts[outcome] = (counts[outcome] ?? 0) + 1
    }
    return counts
  }

  async overview(id: string): Promise<RunOverview> {
    const run = this.#find(id)
    const summary = run.summary()
    const rows = [run.entries[0]?.position ?? 0, run.position] as const
    const options = (await this.#decode(run.options, 'options')) as RunOverview['options']
    return { ...summary, options, rows }
  }

  async snapshot(id: string, options: { readonly upTo?: number } = {}): Promise<RunSnapshot> {
    const run = this.#find(id)
    const { upTo = Infinity } = options
    const { endedAt: _endedAt, state, ...summary } = run.summary()
    // Rows added during the iteration are not part of the answer.
    const last = Math.min(upTo, run.position)
    const isCurrent = last === run.position
    const fold = new RunFold()
    const slices = new Slices(this.#kernel.clock)
    for (const entry of run.entries) {
      if (entry.position > last) break
      fold.add(entry, run.hasValueAt(entry.position))
      if (slices.due) await slices.next()
    }
    return {
      ...summary,
      ...fold.by,
      ...(fold.endedAt !== undefined && { endedAt: fold.endedAt }),
      elapsed: fold.elapsed,
      state: isCurrent ? state : fold.state,
      counts: fold.counts(),
      options: (await this.#decode(run.options, 'options')) as RunSnapshot['options'],
      nodes: fold.nodes(),
      position: fold.position,
    }
  }

  async *history(
    id: string,
    options: { readonly from?: number } = {},
  ): AsyncGenerator<HistoryEntry, void, undefined> {
    const { entries } = this.#find(id)
    const { from = 0 } = options
    let index = entries.findIndex(({ position }) => position > from)
    if (index < 0) return
    for (const end = entries.length; index < end; index++) yield entries[index]!
  }

  async valueOf(id: string, node: string): Promise<unknown> {
    const run = this.#find(id)
    const stored = run.valueOf(node)
    if (stored !== undefined) return this.#decode(stored, node)
    const { nodes } = await this.snapshot(id)
    const state = nodes.find(({ name }) => name === node)?.state ?? 'not in the run'
    throw new HeddleError('HDL_NO_RESULT', { node, state })
  }

  async *results(id: string): AsyncGenerator<readonly [string, unknown], void, undefined> {
    for (const [node, stored] of this.#find(id).results()) {
      yield [node, await this.#decode(stored, node)]
    }
  }

  async *parts(
    id: string,
    node: string,
    options: PartsOptions = {},
  ): AsyncGenerator<PartEntry, void, undefined> {
    const run = this.#find(id)
    const { from = 0, values = true } = options
    const parts = run.partsOf(node)
    for (let index = 0, end = parts.length; index < end; index++) {
      const entry = parts[index]!
      if (entry.position <= from) continue
      const stored = values ? run.valueAt(entry.position) : undefined
      yield stored === undefined ? entry : { ...entry, value: await this.#decode(stored, node) }
    }
  }

  async post(id: string, posted: RunMessage): Promise<void> {
    this.#checkOpen()
    const run = this.#find(id)
    if (run.hasEnded) throw new HeddleError('HDL_RUN_ENDED', { action: `A message to run ${id}` })
    let message = posted
    const mail = ++this.#lastMail
    if (posted.kind === 'signal') {
      const stored = [await encodeSignal(posted, this.#kernel.clock)]
      message = { ...posted, value: await this.#decode(stored, posted.name) }
      run.signals.set(mail, message)
    }
    run.writer?.receive(message, mail)
  }

  async prune(options: PruneOptions): Promise<PruneReport> {
    this.#checkOpen()
    checkPrune(options)
    const choice = new PruneChoice(options)
    const runs: RunSummary[] = []
    let bytes = 0
    for (const run of [...this.#runs.values()].reverse()) {
      throwIfAborted('The prune', options.signal)
      const sized = { summary: run.summary(), bytes: run.bytes }
      if (!choice.goes(sized.summary, sized.bytes)) continue
      runs.push(sized.summary)
      bytes += sized.bytes
      if (options.dryRun === true) continue
      this.#runs.delete(sized.summary.id)
      bytes += await this.artifacts.remove(sized.summary.id)
    }
    return { runs, bytes, outcomes: 0 }
  }

  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  stats(): JournalStats {
    let pending = 0
    for (const { writer } of this.#runs.values()) pending += writer?.held ?? 0
    const { state } = this.#life
    return { state, pending, rows: this.#position, commits: this.#commits, failed: false }
  }

  #writerOf(run: MemoryRun): MemoryRunWriter {
    const writer = new MemoryRunWriter(run, this.#kernel.clock, {
      nextPosition: () => ++this.#position,
      committed: () => {
        this.#commits++
      },
    })
    run.writer = writer
    return writer
  }

  async #decode(stored: StoredValue, what: string): Promise<unknown> {
    const { clock } = this.#kernel
    const body = new Uint8Array(stored.reduce((size, piece) => size + piece.length, 0))
    const slices = new Slices(clock, 1)
    let at = 0
    for (const piece of stored) {
      body.set(piece, at)
      at += piece.length
      if (slices.due) await slices.next()
    }
    return decodeValue(body, what, this.address, clock)
  }

  #byKey(key: string | undefined): MemoryRun | undefined {
    if (key === undefined) return undefined
    return [...this.#runs.values()].find(({ header }) => header.key === key)
  }

  #find(id: string): MemoryRun {
    const run = this.#runs.get(id)
    if (run !== undefined) return run
    throw new HeddleError('HDL_UNKNOWN_RUN', { run: id, address: this.address })
  }

  #checkOpen(): void {
    if (!this.#life.isRunning) throw this.#life.closed()
  }
}
