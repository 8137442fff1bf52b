/**
 * Runs the elements of a map: the states are drawn in docs/design/growing.md.
 *
 *   filling ──window full──▶ waiting for room ──an element ended──▶ filling
 *      │                          │
 *      ├── no more elements ──────┴──▶ waiting for the last ──▶ result
 *      └── too many failures, the source fails or is late, the run is cancelled ──▶ stopping ──▶ error
 *
 * Stopping starts nothing, and waits for elements under way. A source that is being read is not waited for (G14): it is closed
 * with `return()`, and has a second for that unless it is still being read.
 */
import { suspendAttempt } from '../attempts/attempt.ts'
import type { PlacePermits } from '../capacity/lane-table.ts'
import { elementPath } from '../attempts/part-path.ts'
import { HeddleError, describe } from '../errors.ts'
import { final } from '../attempts/retry.ts'
import type { ElementError, ElementResult, MapCounts, MapSpec } from '../graph/graph.ts'
import type { Needs, OwnLimits } from '../graph/job.ts'
import { isThenable } from '../kernel/call.ts'
import { Deadlines, type Due } from '../kernel/deadlines.ts'
import { Roster } from '../kernel/roster.ts'
import { Slices } from '../kernel/slices.ts'
import type { NodeAttempt } from '../scheduler/node-attempt.ts'
import type { PartEnd } from '../scheduler/part.ts'
import { ElementPast } from './element-past.ts'
import { fromErrorRecord, toErrorRecord } from './error-record.ts'
import { untilAborted, type AttemptContext, type GrowthHost } from './growth-host.ts'
import { runJob, withValue } from './job-input.ts'
import { MapElement, type ElementOwner, type Needed } from './map-element.ts'
import { neededFor, ownLimits, placement } from './node-limits.ts'
import { reader, type PlacedNode } from './placed.ts'
import { isSetAside } from './starts.ts'

/** Milliseconds between two reports of how far a map has come. */
const reportEvery = 100

/** Milliseconds that a source has to close itself. */
const closeGrace = 1_000

/**
 * The result of a map.
 *
 * *Cancellation*: by the signal of its attempt; running elements are aborted with it. `onDrain` is notified of the
 * beginning of a graceful cancel, until the function that it returns is called.
 */
export async function runMap(
  placed: PlacedNode,
  context: AttemptContext,
  host: GrowthHost,
  onDrain: (callback: () => void) => () => void,
): Promise<unknown> {
  const run = new MapRun(placed, context, host)
  const leave = onDrain(() => run.drain())
  try {
    return await untilAborted(context, run.run(), (reason) => run.abort(reason))
  } finally {
    leave()
  }
}

class MapRun implements ElementOwner {
  readonly limits: OwnLimits
  readonly permits: PlacePermits | undefined
  readonly #placed: PlacedNode
  readonly #spec: MapSpec
  /** The needs of each element, where they do not depend on it. */
  readonly #sameNeeds: Needed | undefined
  readonly #context: AttemptContext
  readonly #host: GrowthHost
  readonly #live = new Roster<MapElement>()
  /** The results in order; undefined when they are not collected. */
  readonly #results: unknown[] | undefined
  /** Keys of elements, to notice duplicates. */
  readonly #keys: Set<string> | undefined
  #past: ElementPast | undefined
  #total: number | undefined
  #succeeded = 0
  #failed = 0
  /** Elements that were set aside. They are not an outcome that `failures` is about. */
  #setAside = 0
  #setAsideError: unknown
  /** Its error, which may be undefined. */
  #failure: { readonly error: unknown } | undefined
  #isStopped = false
  /** Why the run is cancelled, once an element was not started because of it. */
  #refusal: { readonly reason: unknown } | undefined
  /** Resolved when an element has ended. */
  #change: PromiseWithResolvers<void> | undefined
  /** Ends the wait for user code. */
  #stopWaiting: (() => void) | undefined
  /** The limit of that wait. There is one wait at a time, and one timer for all of them. */
  readonly #wakeUp: Due = { heapIndex: -1, dueAt: undefined }
  readonly #deadlines: Deadlines<Due>
  #onLate: () => void = () => undefined
  #reportedAt = -Infinity
  readonly #startedAt: number
  /** The number of elements that an earlier process has ended. */
  #found = 0

  constructor(placed: PlacedNode, context: AttemptContext, host: GrowthHost) {
    this.#placed = placed
    this.#spec = placed.node.grows as MapSpec
    this.limits = ownLimits(placed.node)
    this.permits = placement(placed.place, placed.node.job).place
    const { needs } = this.limits
    this.#sameNeeds = typeof needs === 'function' ? undefined : { needs }
    this.#context = context
    this.#host = host
    this.#startedAt = host.clock.now()
    this.#deadlines = new Deadlines(host.clock, () => this.#onLate())
    this.#results = this.#spec.collect ? [] : undefined
    this.#keys = this.#spec.key === undefined ? undefined : new Set()
  }

  async run(): Promise<unknown> {
    const { growth, journal } = this.#host
    const { name } = this.#placed
    const source = await this.#source()
    suspendAttempt(this.#context)
    growth.describe(this.#context, () => this.#describe())
    if (journal?.isResumed === true) {
      this.#past = await ElementPast.read(
        (options) => journal.parts(name, options),
        this.#spec.collect,
      )
      if (this.#past.hasFailures) journal.recorder.noteFailedParts(name)
    }
    try {
      await this.#fill(source)
    } catch (error) {
      this.#stop(error)
    } finally {
      this.#deadlines.close()
    }
    while (this.#live.size > 0) await this.#waitChange()
    return this.#conclude()
  }

  /** Stops everything at once: the attempt was aborted. */
  abort(reason: unknown): void {
    this.#stop(reason)
  }

  /** Elements that run may end; the source is not read any more. */
  drain(): void {
    const refusal = this.#host.growth.refusal(this.#context)
    if (refusal !== undefined) this.#refuse(refusal)
  }

  async #source(): Promise<Iterator<unknown> | AsyncIterator<unknown>> {
    const { over } = this.#spec
    const { scope, name } = this.#placed
    const resultOf = (dependency: string): unknown => this.#context.resultOf(dependency)
    const given: unknown =
      typeof over === 'string' ? resultOf(scope.prefix + over) : await over(reader(scope, resultOf))
    const source = given as Partial<AsyncIterable<unknown> & Iterable<unknown>> | undefined
    const { length, size } = (source ?? {}) as {
      readonly length?: unknown
      readonly size?: unknown
    }
    if (typeof length === 'number') this.#total = length
    else if (typeof size === 'number') this.#total = size
    const iterator = source?.[Symbol.asyncIterator]?.() ?? source?.[Symbol.iterator]?.()
    if (iterator !== undefined && typeof given !== 'string') return iterator
    const what = 'a list or another iterable'
    const expected = typeof over === 'string' ? `${what} as the result of "${over}"` : what
    throw new HeddleError('HDL_BAD_OPTION', { option: `over of ${name}`, value: given, expected })
  }

  async #fill(source: Iterator<unknown> | AsyncIterator<unknown>): Promise<void> {
    const slices = new Slices(this.#host.clock)
    const { name } = this.#placed
    let isBeingRead = false
    try {
      for (let index = 0; ; index++) {
        while (this.#live.size >= this.#spec.window && !this.#isStopped) await this.#waitChange()
        if (this.#isStopped) return
        isBeingRead = true
        const next = source.next()
        const read = isThenable(next) ? await this.#wait(next, `The source of "${name}"`) : next
        if (this.#isStopped && read === undefined) return
        isBeingRead = false
        if (this.#isStopped || checkRead(name, read).done === true) return
        const started = this.#begin(read!.value, index)
        if (started !== undefined) await this.#wait(started, `needs of "${name}[${index}]"`)
        if (slices.due) await slices.next()
      }
    } finally {
      if (this.#isStopped) await this.#close(source, isBeingRead)
    }
  }

  /** An iterable that is not read to its end may hold a file open. Why the map stops is known: that closing fails says no more. */
  async #close(
    source: Iterator<unknown> | AsyncIterator<unknown>,
    isBeingRead: boolean,
  ): Promise<void> {
    // A generator closes when its read ends, and nothing waits for that read any more.
    const grace = isBeingRead || this.#context.cancelled ? 0 : closeGrace
    try {
      const closing: unknown = source.return?.()
      if (isThenable(closing)) await this.#wait(closing, undefined, grace)
    } catch {
      // See above.
    }
  }

  /**
   * The result of user code. Undefined when the map is stopped before (G14).
   * @throws `HDL_TIMEOUT` when it takes longer than an element may. Without `what`, undefined then.
   */
  #wait<T>(
    work: PromiseLike<T>,
    what: string | undefined,
    limit = this.#timeout,
  ): Promise<T | undefined> {
    const ended = Promise.withResolvers<T | undefined>()
    work.then(ended.resolve, ended.reject)
    this.#onLate = () => {
      if (what === undefined) ended.resolve(undefined)
      else ended.reject(new HeddleError('HDL_TIMEOUT', { what, limit }))
    }
    if (limit === 0) ended.resolve(undefined)
    else if (limit !== Infinity) this.#deadlines.set(this.#wakeUp, this.#host.clock.now() + limit)
    this.#stopWaiting = () => ended.resolve(undefined)
    return ended.promise.finally(() => {
      this.#deadlines.delete(this.#wakeUp)
      this.#stopWaiting = undefined
    })
  }

  /** Milliseconds that an element may take, and so may the source for the next one. */
  get #timeout(): number {
    return this.limits.timeout ?? this.#context.entry.limits.timeout
  }

  /** Starts an element, unless it has ended in an earlier process. A promise when its needs take time to ask for. */
  #begin(element: unknown, index: number): Promise<void> | undefined {
    const key = this.#spec.key?.(element, index)
    if (this.#spec.key !== undefined) this.#checkKey(key, index)
    const path = elementPath(index, key)
    if (this.#past?.hasSucceeded(path) === true) {
      this.#found++
      const end = { state: 'succeeded', value: this.#past.takeValue(path) } as const
      this.#onEnd(index, end, this.#host.clock.now())
      return undefined
    }
    const failure = this.#past?.failureOf(path)
    if (failure !== undefined) {
      const end = { state: 'failed', error: fromErrorRecord(failure) } as const
      this.#onEnd(index, end, this.#host.clock.now())
      return undefined
    }
    const asked = this.#askNeeds(element, index)
    if (!isThenable(asked)) {
      this.#start(element, index, path, asked)
      return undefined
    }
    return Promise.resolve(asked).then((answer) => {
      if (!this.#isStopped) this.#start(element, index, path, answer)
    })
  }

  /** The needs of an element. If they cannot be computed, the element fails, as a node would. */
  #askNeeds(element: unknown, index: number): Needed | Promise<Needed> {
    if (this.#sameNeeds !== undefined) return this.#sameNeeds
    const { node, name } = this.#placed
    const { needs } = this.limits
    const fail = (error: unknown): Needed => ({ failure: { error: final(error) } })
    try {
      const asked = withValue(this.#inputOf(element, index), (input) =>
        neededFor(`${name}[${index}]`, node.job, needs, input),
      )
      if (!isThenable(asked)) return { needs: asked as Needs | undefined }
      const taken = (answer: unknown): Needed => ({ needs: answer as Needs | undefined })
      return Promise.resolve(asked).then(taken, fail)
    } catch (error) {
      return fail(error)
    }
  }

  #checkKey(key: string | undefined, index: number): void {
    const { name: node } = this.#placed
    if (typeof key !== 'string' || key === '') {
      const option = `key of element ${index} of ${node}`
      const expected = 'a text that is not empty: `key: (row) => String(row.id)`'
      throw new HeddleError('HDL_BAD_OPTION', { option, value: key, expected })
    }
    if (this.#keys!.has(key)) throw new HeddleError('HDL_DUPLICATE_ELEMENT', { node, key })
    this.#keys!.add(key)
  }

  #inputOf(element: unknown, index: number): unknown {
    return this.#spec.input === undefined ? element : this.#spec.input(element, index)
  }

  #start(value: unknown, index: number, path: string, needed: Needed): void {
    const element = new MapElement(this, value, index, path, needed)
    const past = this.#past?.stepsOf(path)
    if (past !== undefined && past.length > 0) element.past = past
    try {
      element.part = this.#host.growth.startPart(this.#context, element)
    } catch (error) {
      // Needs of all elements that cannot be met fail the map; those of one fail that one.
      if (this.#sameNeeds !== undefined || needed.failure !== undefined) throw error
      return this.#start(value, index, path, { failure: { error: final(error) } })
    }
    element.liveIndex = this.#live.add(element)
  }

  runElement({ value, index, path, failure }: MapElement, attempt: NodeAttempt): unknown {
    if (failure !== undefined) throw failure.error
    const { name } = this.#placed
    const { journal } = this.#host
    const outcome =
      journal === undefined
        ? this.#runJob(value, index, attempt)
        : journal.begin(attempt, this.#past?.interruptionsOf(path) ?? 0, () =>
            this.#runJob(value, index, attempt),
          )
    return this.#host.record(attempt, outcome, name, { path })
  }

  #runJob(value: unknown, index: number, attempt: NodeAttempt): unknown {
    const { node, place } = this.#placed
    const input = this.#inputOf(value, index)
    if (!isThenable(input)) return runJob(node.job, input, place, attempt)
    return Promise.resolve(input).then((made) => runJob(node.job, made, place, attempt))
  }

  onElementEnd({ index, part, liveIndex }: MapElement, end: PartEnd, now: number): void {
    this.#live.remove(liveIndex)
    this.#onEnd(index, end, now, part!.attempt + 1)
  }

  #onEnd(index: number, end: PartEnd, now: number, attempts = 1): void {
    if (end.state === 'succeeded') this.#onSucceeded(index, end.value)
    else if (end.state === 'failed') this.#onFailed(index, end.error, attempts)
    // Neither succeeded nor failed: the run is cancelled.
    else this.#refuse(end.error)
    this.#report(now)
    this.#change?.resolve()
    this.#change = undefined
  }

  #onSucceeded(index: number, value: unknown): void {
    this.#succeeded++
    if (this.#results === undefined) return
    const result: ElementResult<unknown> = { ok: true, value }
    this.#results[index] = this.#spec.reportsFailures ? result : value
  }

  #onFailed(index: number, error: unknown, attempts: number): void {
    this.#failed++
    if (this.#isStopped) return
    const wasSetAside = isSetAside(error)
    if (wasSetAside) this.#setAside++
    if (!wasSetAside && this.#failed - this.#setAside <= this.#spec.atMost) {
      const result: ElementResult<unknown> = { ok: false, error: elementError(error) }
      if (this.#results !== undefined) this.#results[index] = result
      return
    }
    const { name: node } = this.#placed
    const cause = describe(error)
    const details = { node, element: String(index), failed: this.#failed, attempts, cause }
    const failure = new HeddleError('HDL_ELEMENT_FAILED', details, { cause: error })
    // R5: the others continue. The map fails when they have ended, so that a retry runs this one again.
    if (wasSetAside) this.#setAsideError ??= failure
    else this.#stop(failure)
  }

  /** G5: nothing starts any more, and running elements are aborted. */
  #stop(error: unknown): void {
    this.#failure ??= { error }
    this.#isStopped = true
    this.#stopWaiting?.()
    for (const { part } of this.#live) this.#host.growth.stopPart(part!, error)
  }

  /** Nothing starts any more, and running elements may end. */
  #refuse(reason: unknown): void {
    if (this.#isStopped) return
    this.#refusal = { reason }
    this.#isStopped = true
    this.#stopWaiting?.()
  }

  #waitChange(): Promise<void> {
    this.#change ??= Promise.withResolvers()
    return this.#change.promise
  }

  #conclude(): unknown {
    if (this.#failure !== undefined) throw this.#failure.error as Error
    if (this.#refusal !== undefined) {
      const { reason } = this.#refusal
      this.#host.growth.cancelNode(this.#context, reason)
      throw reason as Error
    }
    if (this.#setAsideError !== undefined) throw this.#setAsideError as Error
    if (this.#results !== undefined) return this.#results
    const counts: MapCounts = {
      elements: this.#succeeded + this.#failed,
      succeeded: this.#succeeded,
      failed: this.#failed,
    }
    return counts
  }

  get #ended(): number {
    return this.#succeeded + this.#failed
  }

  #report(now: number): void {
    if (now - this.#reportedAt < reportEvery && this.#ended !== this.#total) return
    this.#reportedAt = now
    const { progress } = this.#context
    const total = this.#total ?? 0
    progress(total === 0 ? 0 : this.#ended / total, this.#count() + this.#rate(now))
  }

  /** How many end in a second, once that says something. */
  #rate(now: number): string {
    const seconds = (now - this.#startedAt) / 1_000
    if (seconds < 1) return ''
    const rate = (this.#ended - this.#found) / seconds
    return `, ${rate < 10 ? rate.toFixed(1) : Math.round(rate)}/s`
  }

  #count(ended = ''): string {
    const failed = this.#failed === 0 ? '' : `, ${this.#failed} failed`
    const of = this.#total === undefined ? '' : ` of ${this.#total}`
    return `${this.#ended}${of}${ended}${failed}`
  }

  #describe(): string {
    const under = this.#live.size === 1 ? '1 element' : `${this.#live.size} elements`
    return `${under} under way, ${this.#count(' ended')}`
  }
}

/**
 * Like `for await`: an iterator that answers with a non-object has not ended. @throws
 * `HDL_BAD_OPTION`.
 */
function checkRead(
  node: string,
  read: IteratorResult<unknown> | undefined,
): IteratorResult<unknown> {
  if (typeof read === 'object' && read !== null) return read
  const expected = 'an iterable: next() returns { done, value }'
  throw new HeddleError('HDL_BAD_OPTION', { option: `over of ${node}`, value: read, expected })
}

function elementError(error: unknown): ElementError {
  const { name, message, code } = toErrorRecord(error)
  return { name, message, ...(code !== undefined && { code }) }
}
