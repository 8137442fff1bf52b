/**
 * The thread's side of the disk tier: takes requests, commits changes together, answers.
 *
 * Everything that has arrived when a commit starts goes into it (group commit): one fsync for a
 * thousand small changes costs hardly more than for one. Reads are answered before the commit.
 */
import { join } from 'node:path'
import { HeddleError, describe } from '../../../errors.ts'
import type { HeldLock } from '../../../files/exclusive-lock.ts'
import { giveAway } from '../../../sqlite/own-bytes.ts'
import type { TierEntry } from '../../tier.ts'
import { openHome } from './home.ts'
import { FileWriter, readFile } from '../../../files/large-values.ts'
import {
  type AnswerValue,
  type DiskAnswer,
  type DiskAnswers,
  type DiskBatch,
  type DiskRequest,
  type DiskThreadData,
  type WireError,
  type WireMeta,
} from './messages.ts'
import { DiskStore, emptyDirectory, type StoreChange } from './store.ts'

export interface DiskServerPort {
  post(message: DiskAnswers, transfer: readonly ArrayBuffer[]): void
  /** The next message that has arrived already. */
  next(): DiskBatch | undefined
}

interface Waiting {
  readonly id: number
  readonly change: StoreChange
}

/** A large value that is being received. Its steps happen one after the other. */
interface Receiving {
  readonly meta: WireMeta
  readonly writer: FileWriter
  steps: Promise<void>
  failure: Error | undefined
}

export class DiskServer {
  readonly #data: DiskThreadData
  readonly #port: DiskServerPort
  readonly #receiving = new Map<number, Receiving>()
  #store: DiskStore | undefined
  #lock: HeldLock | undefined
  #path = ''
  /** What came while it was being opened. */
  #backlog: DiskBatch[] | undefined
  #waiting: Waiting[] = []
  #answers: DiskAnswer[] = []
  #transfer: ArrayBuffer[] = []
  #now = 0

  constructor(data: DiskThreadData, port: DiskServerPort) {
    this.#data = data
    this.#port = port
  }

  accept(batch: DiskBatch): void {
    if (this.#backlog !== undefined) {
      this.#backlog.push(batch)
      return
    }
    const [first, ...rest] = batch.requests
    if (first?.type !== 'open') {
      this.#process(batch)
      return
    }
    this.#backlog = [{ now: batch.now, requests: rest }]
    void this.#open(first.id).then(() => {
      const backlog = this.#backlog!
      this.#backlog = undefined
      for (const waiting of backlog) this.#process(waiting)
    })
  }

  #process(batch: DiskBatch): void {
    for (let next: DiskBatch | undefined = batch; next !== undefined; next = this.#port.next()) {
      this.#now = next.now
      for (const request of next.requests) this.#take(request)
      // What has been read need not wait for the commit of what came after it.
      this.#send()
    }
    this.#commit()
    this.#send()
  }

  #take(request: DiskRequest): void {
    const { id } = request
    switch (request.type) {
      case 'peek':
        this.#try(id, () => this.#opened.peek(request.key))
        break
      case 'read':
        this.#try(id, () => this.#read(id, request.key))
        break
      case 'write': {
        const { meta, body } = request
        const change = { type: 'write', meta, bytes: body.length, body, file: null } as const
        this.#waiting.push({ id, change })
        break
      }
      case 'delete':
      case 'clear':
        this.#waiting.push({ id, change: request })
        break
      case 'close':
        this.#commit()
        void this.#close(id)
        break
      case 'open':
        break
      case 'begin':
      case 'piece':
      case 'end':
      case 'abort':
        this.#receive(request)
        break
      // no default
    }
  }

  get #opened(): DiskStore {
    if (this.#store === undefined) throw new HeddleError('HDL_CLOSED', { what: 'The disk tier' })
    return this.#store
  }

  /** Always the first request of a thread. */
  async #open(id: number): Promise<void> {
    const { directory, name, maxBytes, durable } = this.#data
    try {
      const { path, database, lock } = await openHome(directory, name, durable)
      this.#path = path
      this.#lock = lock
      emptyDirectory(join(path, 'staging'))
      this.#store = new DiskStore(database, join(path, 'files'), maxBytes)
      this.#store.sweep()
      this.#answer(id, this.#store.lastVersion)
    } catch (error) {
      this.#fail(id, error)
    }
    this.#send()
  }

  async #close(id: number): Promise<void> {
    try {
      this.#opened.close()
      this.#store = undefined
      await this.#lock?.release()
      this.#answer(id, undefined)
    } catch (error) {
      this.#fail(id, error)
    }
    this.#send()
  }

  /** `pending` when the value is in a file: the answer follows. */
  #read(id: number, key: string): TierEntry | undefined | typeof pending {
    const found = this.#opened.read(key)
    if (found === undefined) return undefined
    if (found.body !== null) return { ...found.meta, body: found.body }
    const { meta } = found
    void this.#readFile(id, key, meta.file!)
    return pending
  }

  async #readFile(id: number, key: string, file: string): Promise<void> {
    try {
      const body = await readFile(join(this.#path, 'files'), file)
      const store = this.#opened
      const now = store.peek(key)
      if (body !== undefined && now?.file === file) this.#answer(id, { ...now, body })
      // It was replaced meanwhile: the answer is what is there now.
      else if (now?.file !== file) this.#try(id, () => this.#read(id, key))
      else {
        store.removeDamaged(key, file, this.#now)
        this.#answer(id, undefined)
      }
    } catch (error) {
      this.#fail(id, error)
    }
    this.#send()
  }

  #receive(request: DiskRequest & { readonly type: 'begin' | 'piece' | 'end' | 'abort' }): void {
    const { id } = request
    if (request.type === 'begin') {
      const draft = join(this.#path, 'staging', String(id))
      const writer = new FileWriter(draft, join(this.#path, 'files'), this.#data.durable)
      const steps = Promise.resolve()
      this.#receiving.set(id, { meta: request.meta, writer, steps, failure: undefined })
      return
    }
    const receiving = this.#receiving.get(id)
    if (receiving === undefined) return
    receiving.steps = receiving.steps
      .then(() => this.#step(request, receiving))
      .catch((error: Error) => {
        receiving.failure ??= error
      })
  }

  async #step(
    request: DiskRequest & { readonly type: 'piece' | 'end' | 'abort' },
    receiving: Receiving,
  ): Promise<void> {
    const { id } = request
    const { writer } = receiving
    if (request.type === 'piece') {
      // After a failure the rest is taken and thrown away, until its end is told.
      if (receiving.failure === undefined) await writer.write(request.bytes)
      this.#answers.push({ id, credit: request.bytes.length })
      this.#send()
      return
    }
    this.#receiving.delete(id)
    try {
      if (receiving.failure !== undefined) throw receiving.failure
      if (request.type === 'end') await this.#finish(id, receiving)
      else {
        await writer.abandon()
        this.#answer(id, false)
      }
    } catch (error) {
      await writer.abandon().catch(() => undefined)
      this.#fail(id, error)
    }
    this.#commit()
    this.#send()
  }

  async #finish(id: number, { meta, writer }: Receiving): Promise<void> {
    const file = writer.name()
    const store = this.#opened
    // From here on nobody removes a file of this name, also one that another key has just given up.
    store.pin(file)
    try {
      await writer.finish(file)
    } catch (error) {
      store.unpin(file)
      throw error
    }
    const change = { type: 'write', meta, bytes: writer.bytes, body: null, file } as const
    this.#waiting.push({ id, change })
  }

  #commit(): void {
    if (this.#waiting.length === 0) return
    const waiting = this.#waiting
    this.#waiting = []
    const store = this.#store
    if (store === undefined) {
      for (const { id } of waiting)
        this.#fail(id, new HeddleError('HDL_CLOSED', { what: 'The disk tier' }))
      return
    }
    const outcomes = store.commit(
      waiting.map(({ change }) => change),
      this.#now,
    )
    waiting.forEach(({ id, change }, index) => {
      const outcome = outcomes[index]!
      if (change.type === 'write' && change.file !== null) store.unpin(change.file)
      if (outcome instanceof Error) this.#fail(id, outcome)
      else this.#answer(id, outcome)
    })
  }

  #try(id: number, work: () => AnswerValue | typeof pending): void {
    try {
      const value = work()
      if (value !== pending) this.#answer(id, value)
    } catch (error) {
      this.#fail(id, error)
    }
  }

  #answer(id: number, value: AnswerValue): void {
    const body = typeof value === 'object' && 'body' in value ? value.body : undefined
    if (body !== undefined) giveAway(body, this.#transfer)
    this.#answers.push({ id, value })
  }

  #fail(id: number, error: unknown): void {
    this.#answers.push({ id, error: wireError(this.#path || this.#data.directory, error) })
  }

  #send(): void {
    if (this.#answers.length === 0) return
    const answers = this.#answers
    const transfer = this.#transfer
    this.#answers = []
    this.#transfer = []
    this.#port.post({ answers, stats: this.#store?.stats }, transfer)
  }
}

/** The answer comes later. */
const pending: unique symbol = Symbol('pending')

function wireError(store: string, error: unknown): WireError {
  if (error instanceof HeddleError) return { code: error.code, details: error.details as never }
  const details = { store, action: 'be used', cause: describe(error) }
  return { code: 'HDL_STORE_FAILED', details: details as never }
}
