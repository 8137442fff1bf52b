/**
 * Starts of runs that wait for their time.
 *
 *   waiting ── due ─▶ starting ─▶ (the record is erased: the run has its key)
 *      │                 └── the graph cannot be made ─▶ (erased and logged)
 *      └── cancelled ─▶ (erased)
 *
 *  B1  A start is acknowledged when its record is in the store; it is started once, by its key.
 *  B2  Starts with one debounce key are one record until it is due: the last arguments count, and each start moves its time,
 *      at most to `most` after the first.
 *  B3  A debounced record that is due leaves its key before its run is started: a start that comes then begins a new one.
 */
import { HeddleError, isError } from '@heddle/core'
import {
  cursorOf,
  describe,
  erase,
  write,
  type Kernel,
  type Stored,
  type Tables,
} from '@heddle/core/lowlevel'
import { nameIn } from '../http/tenancy.ts'
import type { StartAnswer, StartRequest } from '../runs/own-runs.ts'
import type { Runner } from './scheduled-runs.ts'
import type { IsShown } from './schedules.ts'
import { starts, storedArgs, type StartRecord } from './schedule-tables.ts'

export interface DelayedStartsOptions {
  readonly tables: Tables
  readonly runner: Pick<Runner, 'start'>
  readonly kernel: Kernel
  readonly log: (level: 'info' | 'warning', text: string) => void
  /** Called when there is a start that may be due before the next check. */
  readonly onChange?: () => void
  /** Starts that wait at a time; 10,000 when absent. */
  readonly most?: number
}

export interface DelayRequest extends StartRequest {
  readonly by: string
  /** An instant. */
  readonly startAt?: number | undefined
  readonly debounce?: Debounce | undefined
}

export interface Debounce {
  readonly key: string
  readonly delay: number
  readonly most?: number | undefined
}

export type DelayAnswer =
  | StartAnswer
  | {
      readonly run: null
      readonly how: 'delayed' | 'attached'
      readonly start: string
      readonly dueAt: number
    }

const mostAtOnce = 100
/** Starts that are read together. */
const pageSize = 1_000
/** Two starts with one key at the same moment: one writes, the other looks again. */
const mostTries = 20

export class DelayedStarts {
  readonly #options: DelayedStartsOptions
  readonly #most: number
  /** Starts made by this server, and those found when it started. */
  #count = 0

  constructor(options: DelayedStartsOptions) {
    this.#options = options
    this.#most = options.most ?? 10_000
  }

  stats(): { readonly waiting: number } {
    return { waiting: this.#count }
  }

  /** Counts the stored starts. *Cancellation*: none. */
  async start(): Promise<void> {
    const { tables } = this.#options
    const limit = pageSize
    this.#count = 0
    for (let after: ReturnType<typeof cursorOf> | undefined; ;) {
      const page = await tables.list(starts, { limit, after })
      this.#count += page.length
      if (page.length < limit) return
      after = cursorOf(page.at(-1)!)
    }
  }

  /**
   * Starts a run at its time, at once when that has passed.
   *
   * *Cancellation*: none; it writes a record.
   * @throws `HDL_OVERLOADED`; the error of a start.
   */
  async request(request: DelayRequest): Promise<DelayAnswer> {
    const { tables } = this.#options
    const now = await tables.now()
    if (request.debounce !== undefined) return this.#debounce(request, request.debounce, now)
    const { startAt = now, key, tenant } = request
    if (startAt <= now) return this.#options.runner.start(request)
    const id = key === undefined ? this.#newId() : `key ${nameIn(tenant, key)}`
    const record = this.#record(request, { id, dueAt: startAt, now })
    await this.#checkRoom(now)
    const refused = await tables.change([write(starts, record, 'absent')])
    if (refused === undefined) this.#added()
    const [found] = refused === undefined ? [record] : await tables.byIds(starts, [id])
    // It has become due meanwhile: the run has the key.
    if (found === undefined) return this.#options.runner.start(request)
    const how = refused === undefined ? 'delayed' : 'attached'
    return { run: null, how, start: id, dueAt: found.dueAt }
  }

  /** B2. */
  async #debounce(request: DelayRequest, debounce: Debounce, now: number): Promise<DelayAnswer> {
    const { tables, kernel } = this.#options
    const { clock } = kernel
    const since = clock.now()
    const id = `debounce ${nameIn(request.tenant, debounce.key)}`
    for (let tries = 0; tries < mostTries; tries++) {
      const [found] = await tables.byIds(starts, [id])
      const firstAt = found?.firstAt ?? now
      const latest = debounce.most === undefined ? Infinity : firstAt + debounce.most
      const dueAt = Math.min(now + debounce.delay, latest)
      const made = this.#record(request, { id, dueAt, now })
      const record = { ...made, firstAt, key: request.key ?? found?.key ?? made.key }
      if (found === undefined) await this.#checkRoom(now)
      const refused = await tables.change([write(starts, record, found?.revision ?? 'absent')])
      if (refused !== undefined) continue
      if (found === undefined) this.#added()
      else this.#options.onChange?.()
      return { run: null, how: 'delayed', start: id, dueAt }
    }
    // Others write the same key: as long as it was tried in vain, it is busy.
    const retryAfter = Math.max(1, clock.now() - since)
    throw new HeddleError('HDL_OVERLOADED', { what: `The key ${debounce.key}`, retryAfter })
  }

  /** @throws `HDL_UNKNOWN_START`. */
  async cancel(id: string): Promise<void> {
    const { tables } = this.#options
    const [found] = await tables.byIds(starts, [id])
    const refused =
      found === undefined ? true : await tables.change([erase(starts, id, found.revision)])
    if (refused !== undefined) throw new HeddleError('HDL_UNKNOWN_START', { start: id })
    this.#count--
  }

  /** N1: nothing when it is one that the caller may know of. *Cancellation*: none. @throws `HDL_UNKNOWN_START`. */
  async check(id: string, isShown: IsShown): Promise<void> {
    const [found] = await this.#options.tables.byIds(starts, [id])
    if (found !== undefined && isShown(found.args.tenant)) return
    throw new HeddleError('HDL_UNKNOWN_START', { start: id })
  }

  /** The delayed starts, the earliest due time first. *Cancellation*: none: there are at most as many as `most` says. */
  async list(limit: number, isShown: IsShown = () => true): Promise<readonly StartRecord[]> {
    const { tables } = this.#options
    const found: StartRecord[] = []
    for (let after: ReturnType<typeof cursorOf> | undefined; ;) {
      const page = await tables.list(starts, { by: 'dueAt', limit: pageSize, after })
      for (const start of page) {
        if (isShown(start.args.tenant) && found.push(start) === limit) return found
      }
      if (page.length < pageSize) return found
      after = cursorOf(page.at(-1)!, 'dueAt')
    }
  }

  /** Starts due runs. Resolves with the time of the next one. *Cancellation*: the signal ends it between two starts. */
  async look(now: number, signal: AbortSignal): Promise<number | undefined> {
    const { tables } = this.#options
    const due = await tables.list(starts, { by: 'dueAt', below: now + 1, limit: mostAtOnce })
    for (const each of due) {
      if (signal.aborted) return undefined
      if (!(await this.#startNow(each))) return now + 1_000
    }
    const [next] = await tables.list(starts, { by: 'dueAt', limit: 1 })
    return next?.dueAt
  }

  /** B1, B3. Gives whether it is worth trying the next one. */
  async #startNow(found: Stored<StartRecord>): Promise<boolean> {
    const { tables, runner, log } = this.#options
    let record = found
    if (found.firstAt !== undefined) {
      const { revision, firstAt: _firstAt, ...rest } = found
      const moved: StartRecord = { ...rest, id: nameIn(found.args.tenant, found.key) }
      const changes = [erase(starts, found.id, revision), write(starts, moved, 'absent')]
      // It was moved to a later time, or another server has it.
      if ((await tables.change(changes)) !== undefined) return true
      record = { ...moved, revision: 1 }
    }
    const { graph, args, key, title } = record
    const { value, tenant } = args
    try {
      await runner.start({ graph, args: value, key, title, tenant })
    } catch (error) {
      if (isError(error, 'HDL_OVERLOADED') || isError(error, 'HDL_DRAINING')) return false
      if (isError(error, 'HDL_STORE_FAILED') || isError(error, 'HDL_JOURNAL_GONE')) return false
      log('warning', `The delayed start ${record.id} of "${graph}" failed: ${describe(error)}`)
    }
    await tables.change([erase(starts, record.id)])
    this.#count--
    return true
  }

  #record(
    { graph, args, key, title, by, tenant }: DelayRequest,
    { id, dueAt, now }: { readonly id: string; readonly dueAt: number; readonly now: number },
  ): StartRecord {
    return {
      id,
      graph,
      args: storedArgs(args, tenant),
      key: key ?? `start:${this.#newId()}`,
      dueAt,
      createdAt: now,
      createdBy: by,
      ...(title !== undefined && { title }),
    }
  }

  #newId(): string {
    const { random } = this.#options.kernel
    const part = (): string =>
      Math.floor(random.next() * 2 ** 32)
        .toString(16)
        .padStart(8, '0')
    return part() + part()
  }

  /** There is room when the next start is due. */
  async #checkRoom(now: number): Promise<void> {
    if (this.#count < this.#most) return
    const [next] = await this.#options.tables.list(starts, { by: 'dueAt', limit: 1 })
    const retryAfter = Math.max(1_000, (next?.dueAt ?? now) - now)
    throw new HeddleError('HDL_OVERLOADED', { what: 'The list of starts', retryAfter })
  }

  #added(): void {
    this.#count++
    this.#options.onChange?.()
  }
}
