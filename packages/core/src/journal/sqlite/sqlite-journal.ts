/**
 * The journal in a file: a thread that writes, a thread that reads, and files for large values.
 *
 *   <file>          the database        <file>-wal, <file>-shm   its log, while it is open
 *   <file>.values/  large values        <file>.lock, .lock.json  who writes
 *
 *   loop ──rows, per turn──▶ writing thread ──one transaction per group──▶ <file>-wal ──▶ <file>
 *     ◀──"durable up to"──        reading thread ◀── pages of rows ──┘
 *
 * The reading thread starts with the first question. Neither keeps the process alive unless something
 * is under way.
 */
import { holdLock, type HeldLock } from '../../files/exclusive-lock.ts'
import { HeddleError } from '../../errors.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { HostLink } from '../../sqlite/host-link.ts'
import { joinBytes } from '../../sqlite/own-bytes.ts'
import { checkHeader, checkHolder, checkNodes } from '../checks.ts'
import { collectPieces, decodeValue, encodePieces, unreadable } from '../encode.ts'
import type {
  Durability,
  HistoryEntry,
  Journal,
  JournalStats,
  NodeSnapshot,
  RunHeader,
  RunHolder,
  RunSnapshot,
  RunSummary,
  RunWriter,
} from '../journal.ts'
import { runStateOf } from '../states.ts'
import { allSucceeded, heldError, runLimit, type RunsOptions } from '../summary.ts'
import { lockName } from './file-names.ts'
import type {
  BatchWire,
  FoundRun,
  Opened,
  ReaderAnswers,
  ReaderData,
  ReaderQuestion,
  RunChange,
  StoredResult,
  WriterData,
  WriterQuestion,
} from './messages.ts'
import { Outbox } from './outbox.ts'
import { SqliteRunWriter, type WriterHost } from './sqlite-writer.ts'
import { storeError } from './sqlite-error.ts'
import { ValueFiles } from './value-files.ts'

export interface SqliteJournalOptions {
  readonly durability: Durability
  readonly kernel: Kernel
  readonly readOnly: boolean
}

/** Sources start sources, built files start built files. */
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
const writerEntry = new URL(`./writer-thread.${extension}`, import.meta.url)
const readerEntry = new URL(`./reader-thread.${extension}`, import.meta.url)

/** What only a journal that may be written has. */
interface WriteSide {
  readonly lock: HeldLock
  readonly link: HostLink
  readonly outbox: Outbox
  readonly session: number
  lastRun: number
}

export async function openSqliteJournal(
  file: string,
  options: SqliteJournalOptions,
): Promise<Journal> {
  const writeSide = options.readOnly ? undefined : await openWriteSide(file, options)
  const journal = new SqliteJournal(file, options, writeSide)
  // A writer's file has been looked at; a reader's may be damaged, newer, or not there.
  if (writeSide === undefined) await journal.check()
  return journal
}

async function openWriteSide(
  file: string,
  { durability, kernel }: SqliteJournalOptions,
): Promise<WriteSide> {
  const { clock } = kernel
  const command = process.argv.slice(1).join(' ') || 'node'
  const lock = await holdLock(lockName(file), { command, kernel })
  const data: WriterData = { file, durability, pid: process.pid, openedAt: clock.wallTime() }
  let outbox: Outbox | undefined
  const link = new HostLink({
    entry: writerEntry,
    name: 'heddle-journal',
    data,
    store: file,
    what: `The journal ${file}`,
    clock,
    onEnd: (error) => outbox?.fail(error),
  })
  try {
    const { session, position, run } = (await link.open()) as Opened
    const opened = (outbox = new Outbox({ clock, send: (batch) => void send(batch) }, position))
    const send = async (batch: BatchWire): Promise<void> => {
      try {
        opened.onDurable(batch.batch, (await link.change(batch, batch.bodies)) as number)
      } catch (error) {
        opened.fail(storeError(file, 'be written', error))
      }
    }
    return { lock, link, outbox: opened, session, lastRun: run }
  } catch (error) {
    await link.kill()
    await lock.release()
    throw error
  }
}

class SqliteJournal implements Journal {
  readonly address: string
  readonly #file: string
  readonly #kernel: Kernel
  readonly #writeSide: WriteSide | undefined
  readonly #values: ValueFiles
  readonly #writers = new Map<string, SqliteRunWriter>()
  /** Runs that are being opened or resumed. */
  readonly #opening = new Set<string>()
  #reader: Promise<HostLink> | undefined
  #closing: Promise<void> | undefined

  constructor(file: string, options: SqliteJournalOptions, writeSide: WriteSide | undefined) {
    this.address = `sqlite:${file}`
    this.#file = file
    this.#kernel = options.kernel
    this.#writeSide = writeSide
    this.#values = new ValueFiles(file, options)
  }

  async openRun(header: RunHeader): Promise<RunWriter> {
    const side = this.#writable()
    checkHeader(header)
    const { id, title, startedAt } = header
    if (this.#opening.has(id)) throw this.#exists(id)
    this.#opening.add(id)
    try {
      const { clock } = this.#kernel
      const options = encodePieces('options', header.options, clock)
      // The answer is on its way while the nodes are looked at.
      const [found, pieces] = await Promise.all([
        find(side, id),
        collectPieces(options),
        checkNodes(header.nodes, clock),
      ])
      if (found !== undefined) throw this.#exists(id)
      this.#writable()
      const run = ++side.lastRun
      const writer = this.#writerOf(id, run, side)
      // A run becomes visible with its last row here: before that it has no record.
      if (header.nodes.length > 0) writer.announce(header.nodes, startedAt)
      const holder = holderOf(header)
      await this.#begin(writer, holder, startedAt, {
        type: 'open',
        run,
        id,
        title,
        startedAt,
        holder,
        options: joinBytes(pieces),
      })
      return writer
    } finally {
      this.#opening.delete(id)
    }
  }

  async resumeRun(id: string, by: RunHolder): Promise<RunWriter> {
    const side = this.#writable()
    checkHolder(by)
    const holder = holderOf(by)
    if (this.#opening.has(id) || this.#writers.has(id)) throw heldError(id, holder)
    this.#opening.add(id)
    try {
      const found = await find(side, id)
      if (found === undefined) {
        throw new HeddleError('HDL_UNKNOWN_RUN', { run: id, address: this.address })
      }
      if (runStateOf(found.state) === 'finished') {
        const counts = await this.#ask({ type: 'counts', run: id })
        if (allSucceeded(counts)) {
          throw new HeddleError('HDL_RUN_ENDED', { action: `Resuming run ${id}` })
        }
      }
      this.#writable()
      const writer = this.#writerOf(id, found.run, side)
      const change: RunChange = { type: 'resume', run: found.run, holder }
      await this.#begin(writer, holder, this.#kernel.clock.wallTime(), change)
      return writer
    } finally {
      this.#opening.delete(id)
    }
  }

  async #begin(
    writer: SqliteRunWriter,
    holder: RunHolder,
    at: number,
    change: RunChange,
  ): Promise<void> {
    try {
      await writer.begin(holder, at, change)
    } catch (error) {
      this.#writers.delete(writer.runId)
      throw error
    }
  }

  async runs(options: RunsOptions = {}): Promise<readonly RunSummary[]> {
    return this.#ask({ type: 'runs', state: options.state, limit: runLimit(options) })
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
    return this.#decode(node, await this.#ask({ type: 'value', run: id, node }))
  }

  async *results(id: string): AsyncGenerator<readonly [string, unknown], void, undefined> {
    for (let from = 0; ;) {
      const page = await this.#ask({ type: 'results', run: id, from })
      if (page.length === 0) return
      for (const { node, value } of page) {
        yield [node, await this.#decode(node, value)]
      }
      from = page.at(-1)!.position
    }
  }

  async #decode(node: string, stored: StoredResult): Promise<unknown> {
    const bytes = typeof stored === 'string' ? await this.#values.read(stored) : stored
    if (bytes === undefined) {
      throw unreadable(node, this.address, `its file ${String(stored)} is damaged or gone`)
    }
    return decodeValue(bytes, node, this.address, this.#kernel.clock)
  }

  stats(): JournalStats {
    const outbox = this.#writeSide?.outbox
    let pending = outbox?.pending ?? 0
    for (const writer of this.#writers.values()) pending += writer.held
    const { rows, commits } = outbox?.counts ?? { rows: 0, commits: 0 }
    return { pending, rows, commits, failed: outbox?.failure !== undefined }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    const side = this.#writeSide
    const writers = [...this.#writers.values()]
    const left = await Promise.allSettled(writers.map((writer) => writer[Symbol.asyncDispose]()))
    // First those who read: the last to close the database moves the log into it. A thread that failed has
    // told so to who asked it; what it leaves is made up for at the next opening.
    const reader = await this.#reader?.catch(() => undefined)
    await reader?.stop().catch(() => undefined)
    if (side === undefined) return
    const at = this.#kernel.clock.wallTime()
    await side.link.stop(at).catch(() => undefined)
    await side.lock.release()
    const lost = left.find((each) => each.status === 'rejected')
    if (lost !== undefined) throw lost.reason
  }

  /** Fails when the file cannot be read. */
  async check(): Promise<void> {
    await this.#readerLink()
  }

  async #ask<Q extends ReaderQuestion>(question: Q): Promise<ReaderAnswers[Q['type']]> {
    if (this.#closing !== undefined) throw this.#closed()
    const reader = await this.#readerLink()
    return (await reader.ask(question)) as ReaderAnswers[Q['type']]
  }

  #readerLink(): Promise<HostLink> {
    this.#reader ??= this.#startReader()
    return this.#reader
  }

  async #startReader(): Promise<HostLink> {
    const session = this.#writeSide?.session
    const data: ReaderData = { file: this.#file, address: this.address, session }
    const link = new HostLink({
      entry: readerEntry,
      name: 'heddle-journal-reader',
      data,
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

  #writerOf(id: string, run: number, side: WriteSide): SqliteRunWriter {
    const host: WriterHost = {
      file: this.#file,
      clock: this.#kernel.clock,
      outbox: side.outbox,
      values: this.#values,
      onClosed: () => this.#writers.delete(id),
    }
    const writer = new SqliteRunWriter(id, run, host)
    this.#writers.set(id, writer)
    return writer
  }

  #writable(): WriteSide {
    if (this.#closing !== undefined) throw this.#closed()
    if (this.#writeSide !== undefined) return this.#writeSide
    const expected = 'false for a journal that is to be written'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'readOnly', value: true, expected })
  }

  #closed(): HeddleError {
    return new HeddleError('HDL_CLOSED', { what: `The journal ${this.address}` })
  }

  #exists(id: string): HeddleError {
    return new HeddleError('HDL_RUN_EXISTS', { run: id, address: this.address })
  }
}

function holderOf({ pid, host, command }: RunHolder): RunHolder {
  return { pid, host, command }
}

async function find({ link }: WriteSide, run: string): Promise<FoundRun | undefined> {
  const question: WriterQuestion = { run }
  return (await link.ask(question)) as FoundRun | undefined
}
