/**
 * The journal in a file: a thread that writes, a thread that reads, and files for large values.
 *
 *   <file>          the database        <file>-wal, <file>-shm   its log, while it is open
 *   <file>.values/  large values        <file>.writers/          a lock for each process that writes
 *   <file>.artifacts/  what jobs leave
 *                                       <file>.lock, .lock.json  held while the file is opened for writing
 *
 *   loop ──rows, per turn──▶ writing thread ──one transaction per group──▶ <file>-wal ──▶ <file>
 *     ◀──"durable up to"──        reading thread ◀── pages of rows ──┘
 *
 * The writing thread is shared by all journals of the process on this file (write-side.ts). The reading thread
 * starts with the first question. Neither keeps the process alive unless something is under way.
 */
import { throwIfAborted } from '../../kernel/abort.ts'
import { Life, type StopOptions } from '../../kernel/service.ts'
import { stopDeadline, stopWriters } from '../stop-writers.ts'
import { defaultQuota } from '../../artifacts/artifact-store.ts'
import { FolderArtifacts } from '../../artifacts/folder/folder-artifacts.ts'
import { artifactsBeside } from '../../artifacts/open-artifacts.ts'
import { HeddleError } from '../../errors.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { threadFile } from '../../kernel/thread-file.ts'
import { HostLink } from '../../sqlite/host-link.ts'
import { joinBytes } from '../../sqlite/own-bytes.ts'
import { checkHeader, checkHolder, checkNodes } from '../check-rows.ts'
import { collectPieces, decodeValue, encodePieces, encodeSignal, unreadable } from '../encode.ts'
import type {
  Durability,
  HistoryEntry,
  Journal,
  JournalRetry,
  JournalStats,
  NodeSnapshot,
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
import {
  checkPrune,
  chooseRuns,
  inTurnWithWriters,
  outcomesBefore,
  type PruneSource,
  type SizedRun,
} from '../prune.ts'
import { runStateOf } from '../states.ts'
import { heldError, keyTaken, runLimit, type RunsOptions } from '../run-errors.ts'
import type {
  ClaimAnswer,
  ClaimWire,
  PostAnswer,
  PostWire,
  PruneAnswer,
  ReaderAnswers,
  ReaderData,
  ReaderQuestion,
  RunAge,
  StoredResult,
} from './journal-messages.ts'
import type { RunChange } from '../batch.ts'
import type { Outbox } from '../outbox.ts'
import { RowWriter, type WriterHost } from '../run-writer.ts'
import { ValueFiles } from './value-files.ts'
import { useWriteSide, type WriteSide, type WriteSideShare } from './write-side.ts'

/** Runs of which one step of a prune removes rows. */
const prunedAtOnce = 500

export interface SqliteJournalOptions {
  readonly durability: Durability
  readonly kernel: Kernel
  readonly readOnly: boolean
  readonly retry: Required<JournalRetry>
}

export async function openSqliteJournal(
  file: string,
  options: SqliteJournalOptions,
): Promise<Journal> {
  const { durability, kernel, retry } = options
  const share = options.readOnly
    ? undefined
    : await useWriteSide({ file, durability, kernel }, retry)
  const journal = new SqliteJournal(file, options, share)
  // A writer's file has been checked; a reader's may be damaged, newer, or missing.
  if (share === undefined) await journal.check()
  return journal
}

class SqliteJournal implements Journal {
  readonly address: string
  readonly artifacts: FolderArtifacts
  readonly #file: string
  readonly #kernel: Kernel
  /** Its share of the write side, unless it only reads. */
  readonly #share: WriteSideShare | undefined
  readonly #outbox: Outbox | undefined
  readonly #session: number | undefined
  readonly #values: ValueFiles
  readonly #writers = new Map<string, RowWriter>()
  #reader: Promise<HostLink> | undefined
  readonly #life: Life

  constructor(file: string, options: SqliteJournalOptions, share: WriteSideShare | undefined) {
    this.address = `sqlite:${file}`
    this.#file = file
    this.#kernel = options.kernel
    this.#share = share
    this.#outbox = share?.side.outbox
    this.#session = share?.side.session
    this.#values = new ValueFiles(file, options)
    const { kernel } = options
    const { clock } = kernel
    this.#life = new Life({
      what: `The journal ${this.address}`,
      clock,
      deadline: stopDeadline,
      stop: (enough) =>
        stopWriters([...this.#writers.values()], clock, enough, () => this.#release(enough)),
    })
    this.artifacts = new FolderArtifacts(artifactsBeside(file), { kernel, quota: defaultQuota })
  }

  async openRun(header: RunHeader): Promise<RunWriter> {
    const side = this.#writable()
    checkHeader(header)
    const { id, key, title, startedAt } = header
    const { clock } = this.#kernel
    const pieces = await collectPieces(encodePieces('options', header.options, clock))
    await checkNodes(header.nodes, clock)
    this.#writable()
    const holder = holderOf(header)
    const options = joinBytes(pieces)
    const run = await this.#claim(side, {
      claim: 'new',
      id,
      key,
      title,
      startedAt,
      holder,
      options,
    })
    const writer = this.#writerOf(id, run, side)
    // A run becomes visible with its last row here.
    if (header.nodes.length > 0) writer.announce(header.nodes, startedAt)
    await this.#begin(writer, holder, startedAt, { type: 'open', run })
    return writer
  }

  async resumeRun(id: string, by: RunHolder): Promise<RunWriter> {
    const side = this.#writable()
    checkHolder(by)
    const holder = holderOf(by)
    const found = await side.ask({ type: 'find', run: id })
    if (found === undefined) throw this.#unknown(id)
    const state = runStateOf(found.state)
    if (state === 'finished') {
      const counts = await this.#ask({ type: 'counts', run: id })
      if (outcomeOf({ state, counts }) === 'succeeded') {
        throw new HeddleError('HDL_RUN_ENDED', { action: `Resuming run ${id}` })
      }
    }
    this.#writable()
    const run = await this.#claim(side, { claim: 'held', id })
    const writer = this.#writerOf(id, run, side)
    // Signals that were sent while no process ran it.
    side.wake()
    await this.#begin(writer, holder, this.#kernel.clock.wallTime(), {
      type: 'resume',
      run,
      holder,
    })
    return writer
  }

  /** Takes a run for this process. Gives its number. */
  async #claim(side: WriteSide, claim: ClaimWire): Promise<number> {
    const answer = (await side.change(claim)) as ClaimAnswer
    if ('run' in answer) return answer.run
    const { id } = claim
    switch (answer.refused) {
      case 'exists':
        throw new HeddleError('HDL_RUN_EXISTS', { run: id, address: this.address })
      case 'unknown':
        throw this.#unknown(id)
      case 'key':
        throw keyTaken((claim as { key: string }).key, answer.by)
      case 'held':
        throw heldError(id, answer.holder)
    }
  }

  async #begin(writer: RowWriter, holder: RunHolder, at: number, change: RunChange): Promise<void> {
    try {
      await writer.begin(holder, at, change)
    } catch (error) {
      await writer[Symbol.asyncDispose]().catch(() => undefined)
      throw error
    }
  }

  async runs(options: RunsOptions = {}): Promise<readonly RunSummary[]> {
    const { state, key } = options
    return this.#ask({ type: 'runs', state, key, limit: runLimit(options) })
  }

  async list(options: RunListOptions): Promise<RunListPage> {
    return this.#ask({ type: 'list', options })
  }

  async tally(): Promise<Readonly<Partial<Record<RunOutcome, number>>>> {
    return this.#ask({ type: 'tally' })
  }

  async overview(id: string): Promise<RunOverview> {
    return this.#ask({ type: 'overview', run: id })
  }

  async snapshot(id: string, options: { readonly upTo?: number } = {}): Promise<RunSnapshot> {
    const { upTo = Number.MAX_SAFE_INTEGER } = options
    const head = await this.#ask({ type: 'snapshot', run: id, upTo })
    const nodes: NodeSnapshot[] = []
    for (;;) {
      const page = await this.#ask({ type: 'nodes', snapshot: head.snapshot })
      if (page.length === 0) break
      nodes.push(...page)
    }
    const { clock } = this.#kernel
    const decoded = await decodeValue(head.options, 'options', this.address, clock)
    // Undefined where the record of the run was lost and made up.
    return { ...head.run, options: (decoded ?? {}) as RunSnapshot['options'], nodes }
  }

  async *history(
    id: string,
    options: { readonly from?: number } = {},
  ): AsyncGenerator<HistoryEntry, void, undefined> {
    let { from = 0 } = options
    for (;;) {
      const page = await this.#ask({ type: 'history', run: id, from })
      if (page.length === 0) return
      yield* page
      from = page.at(-1)!.position
    }
  }

  async valueOf(id: string, node: string): Promise<unknown> {
    return this.#decode(id, node, await this.#ask({ type: 'value', run: id, node }))
  }

  async *results(id: string): AsyncGenerator<readonly [string, unknown], void, undefined> {
    for (let from = 0; ;) {
      const page = await this.#ask({ type: 'results', run: id, from })
      if (page.length === 0) return
      for (const { node, value } of page) {
        yield [node, await this.#decode(id, node, value)]
      }
      from = page.at(-1)!.position
    }
  }

  async #decode(id: string, node: string, stored: StoredResult): Promise<unknown> {
    const bytes = typeof stored === 'string' ? await this.#values.read(stored) : stored
    if (bytes === undefined) {
      // The files of a run go with it.
      await this.#ask({ type: 'check', run: id })
      throw unreadable(node, this.address, `its file ${String(stored)} is damaged or gone`)
    }
    return decodeValue(bytes, node, this.address, this.#kernel.clock)
  }

  stats(): JournalStats {
    const outbox = this.#outbox
    let pending = outbox?.pending ?? 0
    for (const writer of this.#writers.values()) pending += writer.held
    const { rows, commits } = outbox?.counts ?? { rows: 0, commits: 0 }
    const { state } = this.#life
    return { state, pending, rows, commits, failed: outbox?.failure !== undefined }
  }

  async *parts(
    id: string,
    node: string,
    options: PartsOptions = {},
  ): AsyncGenerator<PartEntry, void, undefined> {
    const { values = true } = options
    for (let { from = 0 } = options; ;) {
      const page = await this.#ask({ type: 'parts', run: id, node, from, values })
      if (page.length === 0) return
      for (const { entry, value } of page) {
        yield value === undefined ? entry : { ...entry, value: await this.#decode(id, node, value) }
      }
      from = page.at(-1)!.entry.position
    }
  }

  async post(id: string, message: RunMessage): Promise<void> {
    const side = this.#writable()
    const { kind, by } = message
    const signal = kind === 'signal' && {
      name: message.name,
      value: await encodeSignal(message, this.#kernel.clock),
    }
    const post: PostWire = { post: kind, to: id, sender: by, ...signal }
    const answer = (await side.change(post)) as PostAnswer
    if (answer === 'unknown') throw this.#unknown(id)
    if (answer === 'ended') {
      throw new HeddleError('HDL_RUN_ENDED', { action: `A message to run ${id}` })
    }
    side.wake()
  }

  async prune(options: PruneOptions): Promise<PruneReport> {
    checkPrune(options)
    const { signal, dryRun = false } = options
    const side = dryRun ? undefined : this.#writable()
    const leftOvers: (RunAge & { readonly summary?: undefined })[] = []
    const chosen = await this.#chooseRuns(options, (run) => void leftOvers.push(run))
    const before = outcomesBefore(options, chosen)
    if (side === undefined) return reportOf(chosen, await this.#ask({ type: 'outcomes', before }))
    const outcomes = await this.#pruneOutcomes(side, before, signal)
    const kept = new Set<number>()
    // Oldest first: a run that was stopped in between has lost its oldest ones.
    const left = [...chosen, ...leftOvers].toSorted((a, b) => b.run - a.run)
    let slice: typeof left = []
    await this.#repeat(signal, async () => {
      if (slice.length === 0) {
        slice = left.splice(-prunedAtOnce).reverse()
        await this.#markRemovals(slice)
      }
      const runs = slice.map(({ run, last }) => ({ run, last }))
      const answer = (await side.change({ prune: 'rows', runs })) as PruneAnswer
      for (const run of answer.kept ?? []) kept.add(run)
      slice.splice(0, answer.done)
      return slice.length + left.length > 0
    })
    // Also of runs that a killed process has removed from the file and not from the folder.
    let artifactBytes = 0
    for (const id of await this.artifacts.unfinishedRemovals()) {
      artifactBytes += await this.#removeArtifacts(side, id)
    }
    await this.#repeat(signal, async () => {
      const { more } = (await side.change({ prune: 'pages' })) as PruneAnswer
      return more
    })
    await side.ask({ type: 'sweep' })
    const removed = chosen.filter(({ run }) => !kept.has(run))
    return reportOf(removed, outcomes, artifactBytes)
  }

  async #markRemovals(
    slice: readonly { readonly summary?: RunSummary | undefined }[],
  ): Promise<void> {
    const runs = slice.flatMap(({ summary }) => (summary === undefined ? [] : [summary.id]))
    await Promise.all(runs.map((run) => this.artifacts.markRemoval(run)))
  }

  #chooseRuns(
    options: PruneOptions,
    onLeftOver: (run: RunAge) => void,
  ): Promise<readonly (RunAge & SizedRun)[]> {
    const numbersOf = (runs: readonly RunAge[]) => runs.map(({ run }) => run)
    let before = Number.MAX_SAFE_INTEGER
    const source: PruneSource<RunAge> = {
      nextPage: async () => {
        for (;;) {
          const page = await this.#ask({ type: 'ages', before })
          if (page.length === 0) return []
          before = page.at(-1)!.run
          for (const run of page) if (run.isLeftOver) onLeftOver(run)
          const runs = page.filter(({ isLeftOver }) => !isLeftOver)
          if (runs.length > 0) return runs
        }
      },
      bytesOf: (runs) => this.#ask({ type: 'sizes', runs: numbersOf(runs) }),
      summariesOf: (runs) => this.#ask({ type: 'summaries', runs: numbersOf(runs) }),
    }
    return chooseRuns(options, source, this.#kernel.clock)
  }

  async #pruneOutcomes(
    side: WriteSide,
    before: number,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    if (before === -Infinity) return 0
    let [after, found] = ['', 0]
    await this.#repeat(signal, async () => {
      const change = { prune: 'outcomes', after, before } as const
      const { more, outcomes = 0, last = after } = (await side.change(change)) as PruneAnswer
      found += outcomes
      after = last
      return more
    })
    return found
  }

  /** Removes the artifacts of a run that is not in the file any more. One that was resumed meanwhile keeps them. */
  async #removeArtifacts(side: WriteSide, id: string): Promise<number> {
    const found = await side.ask({ type: 'find', run: id })
    if (found === undefined) return this.artifacts.remove(id)
    await this.artifacts.unmarkRemoval(id)
    return 0
  }

  /** Repeats a step of a prune until it says that there is no more. */
  async #repeat(signal: AbortSignal | undefined, step: () => Promise<boolean>): Promise<void> {
    for (let isMore = true; isMore;) {
      throwIfAborted('The prune', signal)
      isMore = await inTurnWithWriters(this.#kernel.clock, step)
    }
  }

  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #release(enough: AbortSignal): Promise<void> {
    // Readers first: the last one that closes the database moves the log into it. The callers of a thread that failed
    // have its error; its leftovers are repaired at the next opening.
    const reader = await this.#reader?.catch(() => undefined)
    await reader?.stop({ signal: enough }).catch(() => undefined)
    await this.#share?.release()
  }

  /** Fails when the file cannot be read. */
  async check(): Promise<void> {
    await this.#readerLink()
  }

  async #ask<Q extends ReaderQuestion>(question: Q): Promise<ReaderAnswers[Q['type']]> {
    if (!this.#life.isRunning) throw this.#life.closed()
    const reader = await this.#readerLink()
    return (await reader.ask(question)) as ReaderAnswers[Q['type']]
  }

  #readerLink(): Promise<HostLink> {
    this.#reader ??= this.#startReader()
    return this.#reader
  }

  async #startReader(): Promise<HostLink> {
    const session = this.#session
    const data: ReaderData = { file: this.#file, address: this.address, session }
    const link = new HostLink({
      entry: threadFile('journalReader'),
      name: 'heddle-journal-reader',
      data: { ...data, role: 'journalReader' },
      store: this.#file,
      what: `The journal ${this.#file}`,
      clock: this.#kernel.clock,
      // The next question starts another.
      onEnd: () => (this.#reader = undefined),
    })
    try {
      await link.open()
      return link
    } catch (error) {
      this.#reader = undefined
      await link.kill()
      throw error
    }
  }

  #writerOf(id: string, run: number, side: WriteSide): RowWriter {
    const host: WriterHost = {
      clock: this.#kernel.clock,
      side,
      values: this.#values,
      onClosed: () => this.#writers.delete(id),
    }
    const writer = new RowWriter(id, run, host)
    this.#writers.set(id, writer)
    return writer
  }

  #writable(): WriteSide {
    if (!this.#life.isRunning) throw this.#life.closed()
    if (this.#share !== undefined) return this.#share.side
    const expected = 'false for a journal that is to be written'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'readOnly', value: true, expected })
  }

  #unknown(id: string): HeddleError {
    return new HeddleError('HDL_UNKNOWN_RUN', { run: id, address: this.address })
  }
}

function reportOf(runs: readonly SizedRun[], outcomes: number, otherBytes = 0): PruneReport {
  const bytes = runs.reduce((sum, each) => sum + each.bytes, otherBytes)
  return { runs: runs.map(({ summary }) => summary), bytes, outcomes }
}

function holderOf({ pid, host, command }: RunHolder): RunHolder {
  return { pid, host, command }
}
