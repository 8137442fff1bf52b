/**
 * The journal on PostgreSQL. Several processes write to it, each its own runs (C13): a run is held by a lease of its
 * process, and every statement that writes carries the epoch of the run.
 *
 *     openRun ──▶ reserved ──first rows──▶ held ──leave, or the lease runs out──▶ free ──resumeRun, epoch + 1──▶ held
 *
 *   loop ── rows of a turn ──▶ GroupRecorder ── one statement at a time ──▶ history, result, run
 *     ├─── large results, in slices ──▶ chunk
 *     ├─── what jobs leave, in pieces ──▶ artifact_piece
 *     └─── messages ──▶ run_message ──NOTIFY, or a read each second──▶ the process that holds the run
 *
 * store/postgres/journal-schema.ts and artifact-schema.ts have the tables.
 */
import { randomBytes } from 'node:crypto'
import { throwIfAborted } from '../../kernel/abort.ts'
import { pauseFor, waitFor } from '../../kernel/wait-for.ts'
import { Life, type StopOptions } from '../../kernel/service.ts'
import { stopDeadline, stopWriters } from '../stop-writers.ts'
import { hostname } from 'node:os'
import { defaultQuota, type ArtifactStore } from '../../artifacts/artifact-store.ts'
import { FolderArtifacts } from '../../artifacts/folder/folder-artifacts.ts'
import { PostgresArtifacts } from '../../artifacts/postgres/postgres-artifacts.ts'
import { HeddleError, isError } from '../../errors.ts'
import { isProcessGone } from '../../files/process-alive.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { joinBytes } from '../../sqlite/own-bytes.ts'
import { readAddress, type PostgresAddress } from '../../store/postgres/address.ts'
import { Link } from '../../store/postgres/database-link.ts'
import { migrate, readVersion } from '../../store/postgres/migrate.ts'
import { toStored } from '../../store/stored-text.ts'
import { checkHeader, checkHolder, checkNodes } from '../check-rows.ts'
import { collectPieces, decodeValue, encodePieces, encodeSignal, isOfValue } from '../encode.ts'
import { Mailbox } from '../mailbox.ts'
import { CountFold } from '../run-fold.ts'
import type {
  Durability,
  HistoryEntry,
  Journal,
  JournalStats,
  PartEntry,
  PartsOptions,
  PruneOptions,
  PruneReport,
  RestoreOptions,
  RunHeader,
  RunHolder,
  RunListOptions,
  RunListPage,
  RunMessage,
  RunOverview,
  RunRestorer,
  RunSnapshot,
  RunSummary,
  RunWriter,
} from '../journal.ts'
import { outcomeOf, type RunOutcome } from '../run-outcome.ts'
import {
  checkPrune,
  inTurnWithWriters,
  outcomesBefore,
  chooseRuns,
  type SizedRun,
} from '../prune.ts'
import { checkRunState, runStateOf } from '../states.ts'
import { heldError, keyTaken, runLimit, type RunsOptions } from '../run-errors.ts'
import type { RunChange } from '../batch.ts'
import { Outbox } from '../outbox.ts'
import { RowWriter } from '../run-writer.ts'
import { ChunkWriter, incomplete } from './chunks.ts'
import { ProcessLease, processOf } from '../../store/postgres/process-lease.ts'
import { Pruning, type PrunedRun } from './pruning.ts'
import { callPatiently } from '../../store/postgres/patient-call.ts'
import { PostgresReader, type RunPlace, type StoredResult } from './reader.ts'
import { GroupRecorder } from './recorder.ts'
import type { Lane } from './row-group.ts'
import { Wakes } from './wakes.ts'

export interface PostgresJournalOptions {
  readonly durability: Durability
  readonly kernel: Kernel
  readonly readOnly: boolean
  /** Milliseconds for which a write is sent again before the journal fails. Default 60,000. */
  readonly retryFor?: number | undefined
}

/** Milliseconds between two reads of messages of other processes. */
const readMailEvery = 900

/** Outcomes of acknowledged jobs that one step of a prune reads. */
const outcomesAtOnce = 2_000

/** Milliseconds between two checks of a lease that is running out. */
const lookAgainAfter = 250

/** What `open_run_2` and `resume_run_2` answer. */
type Granted = Omit<Lane, 'id' | 'counts'>
type OpenAnswer = Granted | { readonly exists: true } | { readonly taken: string }
/** What `post_run_4` answers. */
type PostAnswer = { readonly run: number } | { readonly refused: 'unknown' | 'ended' }
type ResumeAnswer = Granted | ({ readonly held: number } & RunHolder) | { readonly changed: true }

interface Writing {
  readonly lane: Lane
  readonly outbox: Outbox
  readonly writer: RowWriter
}

export async function openPostgresJournal(
  address: string,
  options: PostgresJournalOptions,
): Promise<Journal> {
  const read = readAddress(address)
  const journal = new PostgresJournal(read, options)
  try {
    await journal.prepare()
    return journal
  } catch (error) {
    await journal.stop()
    throw error
  }
}

class PostgresJournal implements Journal {
  readonly address: string
  readonly artifacts: ArtifactStore
  /** The artifacts in the database, or in the folder that the address names. */
  readonly #stored: PostgresArtifacts
  readonly #folder: FolderArtifacts | undefined
  readonly #address: PostgresAddress
  readonly #options: PostgresJournalOptions
  readonly #retryFor: number
  readonly #writeLink: Link
  readonly #readLink: Link
  readonly #leaseLink: Link
  readonly #lease: ProcessLease
  readonly #reader: PostgresReader
  readonly #recorder: GroupRecorder
  readonly #chunks: ChunkWriter
  /** Runs that are written, by id. */
  readonly #writing = new Map<string, Writing>()
  /** Runs that are being opened or resumed: one call for each at a time (repeated-calls-schema.ts). */
  readonly #taking = new Set<string>()
  /** Runs that the database may hold for this process although it does not write them: a call had no answer to the end. */
  readonly #leftovers = new Set<string>()
  /** Counts of runs that are no longer written. */
  readonly #done = { rows: 0, commits: 0 }
  readonly #mailbox: Mailbox
  readonly #wakes: Wakes
  #failure: HeddleError | undefined
  readonly #life: Life

  constructor(address: PostgresAddress, options: PostgresJournalOptions) {
    const { kernel, durability, retryFor = 60_000 } = options
    const { clock } = kernel
    const { schema } = address
    this.address = address.shown
    this.#address = address
    this.#options = options
    this.#retryFor = retryFor
    this.#writeLink = new Link({ address, clock, name: 'heddle journal', answerWithin: 10_000 })
    this.#readLink = new Link({
      address,
      clock,
      name: 'heddle journal reader',
      answerWithin: 30_000,
    })
    this.#leaseLink = new Link({ address, clock, name: 'heddle journal lease' })
    this.#lease = new ProcessLease(this.#leaseLink, schema)
    this.#reader = new PostgresReader(this.#readLink, address)
    this.#wakes = new Wakes(address, clock)
    this.#mailbox = new Mailbox({
      address: this.address,
      clock,
      readEvery: readMailEvery,
      read: (wanted) => this.#reader.messages(wanted),
    })
    this.#chunks = new ChunkWriter(this.#readLink, schema, kernel, retryFor)
    this.#stored = new PostgresArtifacts({
      address,
      kernel,
      quota: defaultQuota,
      lease: this.#lease,
      retryFor,
      fenceOf: (run) => this.#writing.get(run)?.lane,
    })
    this.#folder =
      address.artifacts === undefined
        ? undefined
        : new FolderArtifacts(address.artifacts, { kernel, quota: defaultQuota })
    this.artifacts = this.#folder ?? this.#stored
    this.#life = new Life({
      what: `The journal ${this.address}`,
      clock,
      deadline: stopDeadline,
      stop: (enough) => {
        const writers = [...this.#writing.values()].map(({ writer }) => writer)
        return stopWriters(writers, clock, enough, () => this.#release(enough))
      },
    })
    this.#recorder = new GroupRecorder({
      link: this.#writeLink,
      schema,
      clock,
      retryFor,
      isDurable: durability === 'fsync',
      onTrouble: (error) => {
        const trouble = error && { error, isFinal: false }
        for (const { writer } of this.#writing.values()) writer.onTrouble(trouble)
      },
      onDurable: ({ id }, batch) => this.#writing.get(id)?.outbox.onDurable(batch),
      onLost: ({ id, epoch }) => {
        const lost = new HeddleError('HDL_RUN_LOST', { run: id, epoch })
        const writing = this.#writing.get(id)
        writing?.outbox.fail(lost)
        writing?.writer.onTrouble({ error: lost, isFinal: true })
      },
      onFailed: (error) => {
        this.#failure = error
        for (const { outbox, writer } of this.#writing.values()) {
          outbox.fail(error)
          writer.onTrouble({ error, isFinal: true })
        }
      },
    })
  }

  /** Makes or migrates the tables. A reader leaves them as they are. */
  async prepare(): Promise<void> {
    const { readOnly, kernel } = this.#options
    if (!readOnly) return migrate(this.#readLink, this.#address, kernel.clock)
    if ((await readVersion(this.#readLink, this.#address)) === undefined) {
      throw new HeddleError('HDL_NO_JOURNAL', { path: this.address })
    }
  }

  async openRun(header: RunHeader): Promise<RunWriter> {
    this.#checkWritable()
    checkHeader(header)
    const { clock } = this.#options.kernel
    const [options] = await Promise.all([
      collectPieces(encodePieces('options', header.options, clock)),
      checkNodes(header.nodes, clock),
    ])
    this.#checkWritable()
    const { id, startedAt } = header
    const holder = holderOf(header)
    const granted = await this.#reserve('open_run_2', header, options)
    const { writer } = this.#write(id, granted, new CountFold())
    if (header.nodes.length > 0) writer.announce(header.nodes, startedAt)
    const change: RunChange = { type: 'open', run: granted.run }
    return this.#begin(writer, granted, holder, startedAt, change)
  }

  async restoreRun(
    header: Omit<RunHeader, 'nodes'>,
    wait: RestoreOptions = {},
  ): Promise<RunRestorer> {
    this.#checkWritable()
    checkHeader({ ...header, nodes: [] })
    const { clock } = this.#options.kernel
    const options = await collectPieces(encodePieces('options', header.options, clock))
    const granted = await this.#reserveCopy(header, options, wait)
    const { writer, lane } = this.#write(header.id, granted, new CountFold())
    return {
      add: (entry, stored) => writer.restore(entry, stored),
      count: async () => {
        await writer.flush()
        return this.#reader.countRows(lane)
      },
      finish: ({ state, endedAt }) => writer.setStateWithoutRow(state, endedAt),
      [Symbol.asyncDispose]: () => writer[Symbol.asyncDispose](),
    }
  }

  /** A copy that was killed keeps its run until its lease has run out. */
  async #reserveCopy(
    header: Omit<RunHeader, 'nodes'>,
    options: readonly Uint8Array<ArrayBuffer>[],
    { signal, onWait }: RestoreOptions,
  ): Promise<Granted> {
    const run = header.id
    for (let isWaiting = false; ;) {
      const granted = await this.#reserve('restore_run_2', header, options).catch(ifExists)
      if (!(granted instanceof HeddleError)) return granted
      if (await this.#reader.has(run)) throw granted
      if (this.#isOurs(run)) throw copiedBy(run, { pid: process.pid, host: hostname() })
      const reservation = await this.#reader.reservation(run)
      // It has become visible, or was given up, since.
      if (reservation === undefined) continue
      const { milliseconds } = reservation
      // It was removed: its id is not used again (J4).
      if (milliseconds === null) throw granted
      const holder = processOf(reservation.holder)
      if (!isProcessGone(holder)) throw copiedBy(run, holder)
      if (!isWaiting) onWait?.({ run, holder, milliseconds })
      isWaiting = true
      const { clock } = this.#options.kernel
      await pauseFor(Math.min(milliseconds, lookAgainAfter), clock, signal)
      throwIfAborted('The wait for a copy that was cut off', signal)
    }
  }

  async #reserve(
    name: string,
    header: Omit<RunHeader, 'nodes'>,
    options: readonly Uint8Array<ArrayBuffer>[],
  ): Promise<Granted> {
    const { id, key } = header
    const exists = (): HeddleError =>
      new HeddleError('HDL_RUN_EXISTS', { run: id, address: this.address })
    if (this.#isOurs(id)) throw exists()
    return this.#take(id, async () => {
      await this.#lease.hold()
      const answer = await this.#call<OpenAnswer>(name, this.#reservation(header, options))
      if ('exists' in answer) throw exists()
      if ('taken' in answer) throw keyTaken(key!, answer.taken)
      return answer
    })
  }

  /** Whether this process writes a run, or is about to. */
  #isOurs(id: string): boolean {
    return this.#writing.has(id) || this.#taking.has(id)
  }

  /** Calls for a run that are sent again when their answer was lost. */
  async #take<T>(id: string, call: () => Promise<T>): Promise<T> {
    this.#taking.add(id)
    try {
      await this.#leaveLeftovers()
      const answer = await call()
      this.#leftovers.delete(id)
      return answer
    } catch (error) {
      if (isError(error, 'HDL_STORE_FAILED')) this.#leftovers.add(id)
      throw error
    } finally {
      this.#taking.delete(id)
    }
  }

  /** The lease of this process would keep them from all others. Never rejects: what is left over stays so until the next call. */
  async #leaveLeftovers(): Promise<void> {
    const left = [...this.#leftovers].filter((id) => !this.#isOurs(id))
    if (left.length === 0) return
    try {
      const statement = `SELECT ${this.#address.schema}.leave_runs_1($1, $2)`
      const parameters = [left.map(toStored), this.#lease.holder]
      await this.#readLink.call('be written', statement, parameters)
      for (const id of left) this.#leftovers.delete(id)
    } catch {
      // The database is away.
    }
  }

  /** The parameters of `open_run_2` and `restore_run_2`. */
  #reservation(
    header: Omit<RunHeader, 'nodes'>,
    options: readonly Uint8Array<ArrayBuffer>[],
  ): readonly unknown[] {
    const { id, key, title, startedAt, pid, host, command } = header
    return [
      toStored(id),
      key === undefined ? null : toStored(key),
      toStored(title),
      startedAt,
      checkRunState('running'),
      pid,
      toStored(host),
      toStored(command),
      joinBytes(options),
      this.#lease.holder,
    ]
  }

  async resumeRun(id: string, by: RunHolder): Promise<RunWriter> {
    this.#checkOpen()
    this.#checkMayWrite()
    checkHolder(by)
    for (;;) {
      const record = await this.#reader.find(id)
      this.#checkWritable()
      const counts = await this.#reader.countFold(record)
      const standing = { state: runStateOf(record.state), counts: counts.counts() }
      if (outcomeOf(standing) === 'succeeded') {
        throw new HeddleError('HDL_RUN_ENDED', { action: `Resuming run ${id}` })
      }
      if (this.#isOurs(id)) throw heldError(id, record)
      const answer = await this.#take(id, async () => {
        await this.#lease.hold()
        const parameters = [toStored(id), this.#lease.holder, record.epoch]
        return this.#call<ResumeAnswer>('resume_run_2', parameters)
      })
      if ('changed' in answer) continue
      if ('held' in answer) {
        if (!isProcessGone(answer)) throw heldError(id, answer)
        await pauseFor(Math.min(answer.held, lookAgainAfter), this.#options.kernel.clock)
        continue
      }
      const holder = holderOf(by)
      const { writer } = this.#write(id, answer, counts)
      // Signals that were sent while no process ran it.
      this.#mailbox.wake()
      const at = this.#options.kernel.clock.wallTime()
      const change: RunChange = { type: 'resume', run: answer.run, holder }
      return this.#begin(writer, answer, holder, at, change)
    }
  }

  async runs(options: RunsOptions = {}): Promise<readonly RunSummary[]> {
    const limit = runLimit(options)
    this.#checkOpen()
    return this.#reader.runs(options.state, options.key, limit)
  }

  async list(options: RunListOptions): Promise<RunListPage> {
    this.#checkOpen()
    return this.#reader.list(options)
  }

  async leftRuns(): Promise<readonly string[]> {
    this.#checkOpen()
    await this.#leaveLeftovers()
    return this.#reader.leftRuns()
  }

  async tally(): Promise<Readonly<Partial<Record<RunOutcome, number>>>> {
    this.#checkOpen()
    return this.#reader.tally()
  }

  async overview(id: string): Promise<RunOverview> {
    this.#checkOpen()
    return this.#reader.overview(id)
  }

  async snapshot(id: string, options: { readonly upTo?: number } = {}): Promise<RunSnapshot> {
    this.#checkOpen()
    const { upTo = Number.MAX_SAFE_INTEGER } = options
    const { storedOptions, ...snapshot } = await this.#reader.snapshot(id, upTo)
    const { clock } = this.#options.kernel
    const decoded = await decodeValue(storedOptions, 'options', this.address, clock)
    return { ...snapshot, options: (decoded ?? {}) as RunSnapshot['options'] }
  }

  async *history(
    id: string,
    options: { readonly from?: number } = {},
  ): AsyncGenerator<HistoryEntry, void, undefined> {
    this.#checkOpen()
    yield* this.#reader.history(id, options.from ?? 0)
  }

  async valueOf(id: string, node: string): Promise<unknown> {
    this.#checkOpen()
    const [place, stored] = await this.#reader.result(id, node)
    return this.#decode(id, place, node, stored)
  }

  async *results(id: string): AsyncGenerator<readonly [string, unknown], void, undefined> {
    this.#checkOpen()
    for await (const [place, node, stored] of this.#reader.results(id)) {
      yield [node, await this.#decode(id, place, node, stored)]
    }
  }

  async *parts(
    id: string,
    node: string,
    options: PartsOptions = {},
  ): AsyncGenerator<PartEntry, void, undefined> {
    this.#checkOpen()
    const { from = 0, values = true } = options
    for await (const [place, entry, stored] of this.#reader.parts(id, node, { from, values })) {
      if (stored === undefined) yield entry
      else yield { ...entry, value: await this.#decode(id, place, node, stored) }
    }
  }

  async post(id: string, message: RunMessage): Promise<void> {
    this.#checkWritable()
    const { clock } = this.#options.kernel
    const { kind, by } = message
    const [name, value] =
      kind === 'signal'
        ? [toStored(message.name), await encodeSignal(message, clock)]
        : [null, null]
    const ends = [checkRunState('finished'), checkRunState('cancelled')]
    const parameters = [
      randomBytes(12).toString('hex'),
      toStored(id),
      kind,
      toStored(by),
      ends,
      name,
      value,
    ]
    const answer = await this.#call<PostAnswer>('post_run_4', parameters)
    if ('refused' in answer) {
      throw answer.refused === 'unknown'
        ? new HeddleError('HDL_UNKNOWN_RUN', { run: id, address: this.address })
        : new HeddleError('HDL_RUN_ENDED', { action: `A message to run ${id}` })
    }
    const { run } = answer
    if (this.#mailbox.has(run)) this.#mailbox.wake()
    else this.#wakes.announce(run)
  }

  async prune(options: PruneOptions): Promise<PruneReport> {
    checkPrune(options)
    const { signal, dryRun = false } = options
    if (dryRun) this.#checkOpen()
    else this.#checkWritable()
    const chosen = await chooseRuns(options, this.#reader.prunable(), this.#options.kernel.clock)
    const removed = dryRun ? chosen : await this.#remove(chosen, signal)
    const orphaned = dryRun ? 0 : await this.#removeOrphans(signal)
    const runs = removed.map(({ summary }) => summary)
    const bytes = removed.reduce((sum, each) => sum + each.bytes, orphaned)
    const outcomes = await this.#pruneOutcomes(outcomesBefore(options, removed), options)
    return { runs, bytes, outcomes }
  }

  /** They have no index by time, which each job would pay for: a prune reads all of them once, some at a time. */
  async #pruneOutcomes(before: number, { signal, dryRun = false }: PruneOptions): Promise<number> {
    if (before === -Infinity) return 0
    const table = `${this.#address.schema}.outcome`
    const isOld = 's.ended_at < to_timestamp($2::double precision / 1000)'
    const slice = `WITH s AS (
      SELECT handle, ended_at FROM ${table} WHERE handle > $1 ORDER BY handle LIMIT ${outcomesAtOnce})`
    const removal = `, gone AS (
        DELETE FROM ${table} o USING s WHERE o.handle = s.handle AND ${isOld} RETURNING 1)
      SELECT (SELECT max(handle) FROM s), (SELECT count(*)::integer FROM s), (SELECT count(*)::integer FROM gone)`
    const count = ` SELECT max(handle), count(*)::integer, (count(*) FILTER (WHERE ${isOld}))::integer FROM s`
    const statement = slice + (dryRun ? count : removal)
    const { clock } = this.#options.kernel
    let found = 0
    for (let after = ''; ;) {
      throwIfAborted('The prune', signal)
      const parameters = [after, before]
      const [row] = await inTurnWithWriters(clock, () =>
        this.#readLink.call<[string | null, number, number]>('be pruned', statement, parameters),
      )
      const [last, seen, old] = row!
      found += old
      if (last === null || seen < outcomesAtOnce) return found
      after = last
    }
  }

  async #remove<R extends PrunedRun & SizedRun>(
    chosen: readonly R[],
    signal: AbortSignal | undefined,
  ): Promise<readonly R[]> {
    const pruning = new Pruning({
      clock: this.#options.kernel.clock,
      schema: this.#address.schema,
      call: (name, parameters) => this.#call(name, parameters),
      // Makes each change in a transaction of its own.
      change: async (statement) => void (await this.#readLink.call('be pruned', statement)),
      periods: () => this.#reader.periods(),
    })
    for (const { summary } of chosen) await this.#folder?.markRemoval(summary.id)
    return pruning.remove(chosen, signal)
  }

  /** Artifacts of runs that an earlier version has pruned, and the pieces of all that were removed. */
  async #removeOrphans(signal: AbortSignal | undefined): Promise<number> {
    const bytes = Number(await this.#call<string>('artifact_orphans_1', []))
    const { clock } = this.#options.kernel
    for (let isMore = true; isMore;) {
      throwIfAborted('The prune', signal)
      isMore = await inTurnWithWriters(clock, () => this.#stored.sweepSlice())
    }
    return bytes + (await this.#removeFolders())
  }

  /** Also of runs that a killed process has removed from the database and not from the folder. */
  async #removeFolders(): Promise<number> {
    let bytes = 0
    for (const id of (await this.#folder?.unfinishedRemovals()) ?? []) {
      if (await this.#reader.has(id)) await this.#folder!.unmarkRemoval(id)
      else bytes += await this.#folder!.remove(id)
    }
    return bytes
  }

  stats(): JournalStats {
    let { rows, commits } = this.#done
    let pending = 0
    for (const { outbox, writer } of this.#writing.values()) {
      pending += outbox.pending + writer.held
      rows += outbox.counts.rows
      commits += outbox.counts.commits
    }
    const { state } = this.#life
    return { state, pending, rows, commits, failed: this.#failure !== undefined }
  }

  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #release(enough: AbortSignal): Promise<void> {
    await this.#lease.release()
    const { clock } = this.#options.kernel
    const idle = Promise.all([this.#recorder.waitIdle(), this.#mailbox.stop()])
    await waitFor(idle, 'The last rows', clock, { signal: enough }).catch(() => undefined)
    const links = [this.#writeLink, this.#readLink, this.#leaseLink]
    await Promise.all([
      ...links.map((link) => link.close()),
      this.#wakes.stop(),
      this.#stored[Symbol.asyncDispose](),
    ])
  }

  #write(id: string, granted: Granted, counts: CountFold): Writing {
    const { clock } = this.#options.kernel
    const { run, epoch, period, position } = granted
    const lane: Lane = { id, run, epoch, period, position, counts }
    const send = (batch: Parameters<GroupRecorder['push']>[1]): void => {
      this.#recorder.push(lane, batch)
    }
    const outbox = new Outbox({ clock, send })
    const writer = new RowWriter(id, run, {
      clock,
      side: {
        outbox,
        session: epoch,
        // Its writer sends chunks again.
        persist: (work) => storeOrFail(outbox, work),
        addWriter: (added, by) => this.#mailbox.add(added, by),
        removeWriter: (removed) => this.#mailbox.remove(removed),
      },
      values: { store: (pieces) => this.#chunks.store(lane, pieces) },
      onClosed: () => this.#forget(id),
    })
    const writing = { lane, outbox, writer }
    this.#writing.set(id, writing)
    this.#wakes.listen((runs) => {
      if (runs.some((each) => this.#mailbox.has(each))) this.#mailbox.wake()
    })
    return writing
  }

  #forget(id: string): void {
    const writing = this.#writing.get(id)
    const { rows = 0, commits = 0 } = writing?.outbox.counts ?? {}
    this.#writing.delete(id)
    if (writing !== undefined) this.#mailbox.remove(writing.lane.run)
    this.#done.rows += rows
    this.#done.commits += commits
  }

  async #begin(
    writer: RowWriter,
    { run, epoch }: Granted,
    holder: RunHolder,
    at: number,
    change: RunChange,
  ): Promise<RunWriter> {
    try {
      await writer.begin(holder, at, change)
      return writer
    } catch (error) {
      this.#forget(writer.runId)
      // Best effort: without it the run is left with the next call that takes one, or when the lease has run out.
      await this.#call('leave_run_1', [run, epoch]).catch(() => this.#leftovers.add(writer.runId))
      throw error
    }
  }

  async #decode(id: string, place: RunPlace, node: string, stored: StoredResult): Promise<unknown> {
    const { clock } = this.#options.kernel
    if ('body' in stored) return decodeValue(stored.body, node, this.address, clock)
    const pieces: Uint8Array<ArrayBuffer>[] = []
    for await (const chunk of this.#reader.chunks(place, stored.name)) {
      pieces.push(Uint8Array.from(chunk))
    }
    await this.#reader.check(id)
    if (pieces.length === 0) throw incomplete(this.address, node)
    return decodeValue(joinBytes(pieces), node, this.address, clock)
  }

  /** Calls a function of the schema that may be called twice, or that refuses the second time. */
  async #call<T>(name: string, parameters: readonly unknown[]): Promise<T> {
    const { kernel } = this.#options
    const places = parameters.map((_, index) => `$${index + 1}`).join(', ')
    const [row] = await callPatiently<[T]>(
      this.#readLink,
      { clock: kernel.clock, retryFor: this.#retryFor },
      'be written',
      `SELECT ${this.#address.schema}.${name}(${places})`,
      parameters,
    )
    return row![0]
  }

  #checkOpen(): void {
    if (!this.#life.isRunning) throw this.#life.closed()
  }

  #checkMayWrite(): void {
    if (!this.#options.readOnly) return
    const expected = 'false for a journal that is to be written'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'readOnly', value: true, expected })
  }

  #checkWritable(): void {
    this.#checkOpen()
    this.#checkMayWrite()
    if (this.#failure !== undefined) throw this.#failure
  }
}

/** A value that could not be stored would leave a gap behind it: the run fails with it (J6). */
async function storeOrFail<T>(outbox: Outbox, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isOfValue(error)) outbox.fail(error as HeddleError)
    throw error
  }
}

/** For catch(): returns the error of an id that is taken. */
function ifExists(error: unknown): HeddleError {
  if (isError(error, 'HDL_RUN_EXISTS')) return error
  throw error
}

/** The error for a run that a process copies to here. */
function copiedBy(run: string, { pid, host }: Pick<RunHolder, 'pid' | 'host'>): HeddleError {
  return heldError(run, { pid, host, command: 'a copy of it' })
}

function holderOf({ pid, host, command }: RunHolder): RunHolder {
  return { pid, host, command }
}
