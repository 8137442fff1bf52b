/**
 * Structured concurrency: tasks started inside a scope end inside it.
 *
 *   open ──cancel, failed child, signal, deadline──▶ stopping
 *     │                                                 │
 *     └────────join()────────▶ (no task left) ◀──join()─┘
 *                                     │
 *                                   ended ──▶ quiet, or HDL_SCOPE_FAILED, HDL_TIMEOUT, HDL_CANCELLED
 *
 *  C1  `join()` settles only when no child and no shielded task is left.
 *  C2  The first failing child aborts the scope's signal: its siblings learn which child failed.
 *  C3  No error is lost: each is in `errors`, once, in the order in which they happened. A child that
 *      ends with that cancellation has not failed.
 *  C4  Every wait ends: `grace` after the abort, children that ignore it are reported as
 *      HDL_UNRESPONSIVE and no longer waited for. While a shielded task runs, its own bound counts
 *      instead, and the grace starts when the last one has ended.
 *  C5  Nothing starts after the abort, except shielded tasks; nothing at all after the end.
 *
 * Prior art: trio's nurseries, anyio's shielded cancel scopes. Two differences. A promise cannot be
 * killed, hence `grace` instead of waiting for ever. And JavaScript does not tell a disposer whether
 * the block ended by an error, so with `await using` a block that throws waits for its children and
 * does not cancel them: `withScope()` runs the block as a child and has no such gap.
 *
 * Known limit: later errors of an abandoned child are not reported.
 */
import {
  HeddleError,
  cancelSources,
  cancelled,
  describe,
  isError,
  type CancelSource,
} from '../errors.ts'
import { AbortCallback } from '../kernel/abort.ts'
import { callAsync } from '../kernel/call.ts'
import {
  checkDuration,
  checkFunction,
  checkOptions,
  checkSignal,
  checkText,
  checkWord,
  type OptionNames,
} from '../kernel/check.ts'
import type { Clock, Timer } from '../kernel/clock.ts'
import type { WaitOptions } from '../kernel/waiters.ts'
import { basics, type SyncOptions } from './sync-options.ts'

const defaultGrace = 5000

export interface ScopeOptions extends WaitOptions, Omit<SyncOptions, 'maxWaiters'> {
  /** Milliseconds that children get to end after the signal aborted, 5000 when absent. */
  readonly grace?: number | undefined
}

/** The context of a child. */
export interface ScopeContext {
  /** Aborts when the scope is cancelled, a sibling fails or the deadline passes. Pass it on. */
  readonly signal: AbortSignal
  /** A scope for starting more children. */
  readonly scope: Scope
}

export type ScopeTask<T> = (context: ScopeContext) => T | PromiseLike<T>

export interface TaskOptions {
  /** Named in errors. A number when absent. */
  readonly name?: string | undefined
}

export interface ShieldOptions extends TaskOptions {
  /** Milliseconds after which the task's own signal aborts. */
  readonly deadline: number
}

export interface CancelOptions {
  /** `user` when absent. */
  readonly source?: CancelSource | undefined
  /** The author of the cancellation. */
  readonly by?: string | undefined
}

export interface ScopeStats {
  readonly children: number
  readonly shielded: number
  readonly state: 'open' | 'stopping' | 'ended'
  /** Errors so far. */
  readonly errors: number
}

/** Something that runs and is waited for. */
interface Task {
  readonly what: string
  readonly reject: (error: unknown) => void
}

const ignore = (): void => {}

const optionNames = {
  name: 1,
  kernel: 1,
  signal: 1,
  deadline: 1,
  grace: 1,
} satisfies OptionNames<ScopeOptions>

const taskOptionNames = { name: 1 } satisfies OptionNames<TaskOptions>
const shieldOptionNames = { name: 1, deadline: 1 } satisfies OptionNames<ShieldOptions>
const cancelOptionNames = { source: 1, by: 1 } satisfies OptionNames<CancelOptions>

function checkTask<O extends TaskOptions>(
  task: ScopeTask<unknown>,
  options: O,
  known: OptionNames<O>,
): void {
  checkFunction('task', task)
  checkOptions(options, known)
  if (options.name !== undefined) checkText('name', options.name)
}

/** Made by {@link openScope}. */
export class Scope implements AsyncDisposable {
  readonly #what: string
  readonly #clock: Clock
  readonly #grace: number
  readonly #controller = new AbortController()
  readonly #children = new Set<Task>()
  readonly #shielded = new Set<Task>()
  readonly #errors: unknown[] = []
  readonly #known = new WeakSet<object>()
  readonly #end = Promise.withResolvers<void>()
  readonly #outer: AbortCallback | undefined
  readonly #deadlineTimer: Timer | undefined
  #graceTimer: Timer | undefined
  #started = 0
  #joining = false
  #ended = false
  /** Why it was stopped from outside; it becomes the reason of the scope's own end. */
  #stopped: HeddleError | undefined

  /** @internal Use {@link openScope}. */
  constructor(options: ScopeOptions) {
    const { what, kernel } = basics('Scope', options, optionNames)
    this.#what = what
    this.#clock = kernel.clock
    this.#grace = checkDuration('grace', options.grace ?? defaultGrace)
    const { signal } = options
    if (signal !== undefined) checkSignal('signal', signal)
    const deadline = checkDuration('deadline', options.deadline ?? Infinity)
    if (signal?.aborted) {
      this.#onOuterAbort(signal.reason)
      return
    }
    if (signal !== undefined) {
      this.#outer = new AbortCallback(signal, (reason) => this.#onOuterAbort(reason))
    }
    if (deadline !== Infinity) {
      this.#deadlineTimer = this.#clock.setTimer(deadline, () => this.#onDeadline(deadline))
    }
  }

  /** Aborts when the scope is cancelled, a child fails or the deadline passes. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /**
   * Starts a child at once. Its failure cancels the others, whether or not its promise is awaited.
   *
   * *Cancellation*: the child sees it by its signal; after the abort nothing starts and the promise
   * rejects with the cancellation.
   * *Fairness*: none needed, children do not wait for each other.
   *
   * @throws `HDL_CLOSED` (as a rejection) when the scope has ended; `HDL_BAD_OPTION` at once.
   */
  start<T>(task: ScopeTask<T>, options: TaskOptions = {}): Promise<T> {
    checkTask(task, options, taskOptionNames)
    const { signal } = this
    if (this.#ended) return Promise.reject(new HeddleError('HDL_CLOSED', { what: this.#what }))
    if (signal.aborted) {
      const refused = Promise.reject<T>(signal.reason)
      refused.catch(ignore)
      return refused
    }
    return this.#run(this.#children, this.#nameTask('child', options), () =>
      task({ signal, scope: this }),
    )
  }

  /**
   * Like {@link start}, for a child whose value is not needed. False when the scope takes no more:
   * the child was not started.
   *
   * @example
   * scope.launch(({ signal }) => refreshPrices(signal))
   */
  launch(task: ScopeTask<unknown>, options: TaskOptions = {}): boolean {
    checkTask(task, options, taskOptionNames)
    if (this.#ended || this.signal.aborted) return false
    // Its failure is the scope's (C3).
    this.start(task, options).catch(ignore)
    return true
  }

  /**
   * Runs cleanup that the scope's cancellation does not reach, but its own deadline does. The scope
   * waits for it. It may start while the scope is stopping.
   *
   * *Cancellation*: at `deadline` its own signal aborts and it rejects with `HDL_TIMEOUT`; `grace`
   * later it is abandoned with `HDL_UNRESPONSIVE`.
   * *Fairness*: none needed.
   *
   * @throws `HDL_CLOSED` (as a rejection) when the scope has ended.
   * @example
   * await scope.start(async ({ signal }) => {
   *   try {
   *     await transfer(signal)
   *   } finally {
   *     await scope.shield((own) => removeTemporaryFiles(own.signal), { deadline: 2000 })
   *   }
   * })
   */
  shield<T>(task: ScopeTask<T>, options: ShieldOptions): Promise<T> {
    checkTask(task, options, shieldOptionNames)
    if (this.#ended) return Promise.reject(new HeddleError('HDL_CLOSED', { what: this.#what }))
    const { deadline } = options
    if (!Number.isFinite(deadline) || deadline < 0) {
      return Promise.reject(
        new HeddleError('HDL_BAD_OPTION', {
          option: 'deadline',
          value: deadline,
          expected:
            'a finite number of milliseconds: a shield without a bound could hold the scope open for ever',
        }),
      )
    }
    const what = this.#nameTask('shielded task', options)
    const own = new AbortController()
    let late = false
    let timer: Timer | undefined
    this.#stopGrace()
    return this.#run(
      this.#shielded,
      what,
      async () => {
        try {
          return await task({ signal: own.signal, scope: this })
        } catch (error) {
          if (!late || !isCancellation(error, own.signal)) throw error
          throw new HeddleError('HDL_TIMEOUT', { what, limit: deadline }, { cause: error })
        } finally {
          timer?.cancel()
        }
      },
      (handle) => {
        timer = this.#clock.setTimer(deadline, () => {
          late = true
          timer = this.#clock.setTimer(this.#grace, () => {
            this.#shielded.delete(handle)
            this.#abandon(handle)
          })
          own.abort(
            new HeddleError('HDL_CANCELLED', {
              what,
              source: 'deadline',
              reason: `it took longer than ${deadline} ms`,
            }),
          )
        })
      },
    )
  }

  /** Asks all children to stop. The scope then ends quietly unless one of them fails. */
  cancel(reason: unknown = 'cancel() was called', options: CancelOptions = {}): void {
    checkOptions(options, cancelOptionNames)
    if (options.source !== undefined) checkWord('source', options.source, cancelSources)
    if (options.by !== undefined) checkText('by', options.by)
    this.#abort(
      isError(reason, 'HDL_CANCELLED')
        ? reason
        : new HeddleError(
            'HDL_CANCELLED',
            {
              what: this.#what,
              source: options.source ?? 'user',
              reason: describe(reason),
              by: options.by,
            },
            { cause: reason },
          ),
    )
  }

  /**
   * Waits until everything inside has ended, and ends the scope. `await using` calls it.
   *
   * *Cancellation*: give the signal and the deadline to `openScope()`: a scope is not left before
   * its children. After an abort it takes at most `grace`, besides shielded tasks.
   * *Fairness*: none needed.
   *
   * @throws `HDL_SCOPE_FAILED` with all `errors` when a child failed; `HDL_TIMEOUT` or
   * `HDL_CANCELLED` when the deadline or the outer signal stopped it.
   */
  join(): Promise<void> {
    this.#joining = true
    this.#checkEnd()
    return this.#end.promise
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.join()
  }

  stats(): ScopeStats {
    return {
      children: this.#children.size,
      shielded: this.#shielded.size,
      state: this.#ended ? 'ended' : this.signal.aborted ? 'stopping' : 'open',
      errors: this.#errors.length,
    }
  }

  #nameTask(kind: string, options: TaskOptions): string {
    return `${this.#what} ${kind} ${options.name ?? `#${++this.#started}`}`
  }

  #run<T>(
    tasks: Set<Task>,
    what: string,
    run: () => T | PromiseLike<T>,
    onStart: (task: Task) => void = ignore,
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    // The scope reports the error: a child that is not awaited must not be an unhandled rejection.
    promise.catch(ignore)
    const task: Task = { what, reject }
    tasks.add(task)
    onStart(task)
    callAsync(run).then(
      (value) => {
        if (!tasks.delete(task)) return
        resolve(value)
        this.#afterTask()
      },
      (error: unknown) => {
        if (!tasks.delete(task)) return
        this.#fail(what, error)
        reject(error)
        this.#afterTask()
      },
    )
    return promise
  }

  #fail(what: string, error: unknown): void {
    if (isCancellation(error, this.signal)) return
    this.#record(error)
    this.#abort(
      new HeddleError(
        'HDL_CANCELLED',
        { what: this.#what, source: 'sibling-failed', reason: describe(error), by: what },
        { cause: error },
      ),
    )
  }

  /** A child that awaits another one fails with the same error: that is one error. */
  #record(error: unknown): void {
    if (typeof error === 'object' && error !== null) {
      if (this.#known.has(error)) return
      this.#known.add(error)
    }
    this.#errors.push(error)
  }

  #abort(reason: HeddleError): void {
    if (this.#ended || this.signal.aborted) return
    this.#controller.abort(reason)
    this.#armGrace()
  }

  #onOuterAbort(reason: unknown): void {
    this.#stop(cancelled(this.#what, reason))
  }

  #onDeadline(deadline: number): void {
    const reason = new HeddleError('HDL_CANCELLED', {
      what: this.#what,
      source: 'deadline',
      reason: `it was open for longer than ${deadline} ms`,
    })
    this.#stop(
      reason,
      new HeddleError('HDL_TIMEOUT', { what: this.#what, limit: deadline }, { cause: reason }),
    )
  }

  #stop(reason: HeddleError, told: HeddleError = reason): void {
    if (this.#ended || this.signal.aborted) return
    this.#stopped = told
    this.#abort(reason)
  }

  #armGrace(): void {
    if (this.#graceTimer !== undefined || !this.signal.aborted) return
    if (this.#children.size === 0 || this.#shielded.size > 0 || this.#grace === Infinity) return
    this.#graceTimer = this.#clock.setTimer(this.#grace, () => {
      this.#graceTimer = undefined
      const unresponsive = [...this.#children]
      this.#children.clear()
      for (const child of unresponsive) this.#abandon(child)
    })
  }

  #stopGrace(): void {
    this.#graceTimer?.cancel()
    this.#graceTimer = undefined
  }

  /** Abandons a task that was removed from its set: it finds no set to report to later. */
  #abandon(task: Task): void {
    const error = new HeddleError('HDL_UNRESPONSIVE', { what: task.what, grace: this.#grace })
    this.#fail(task.what, error)
    task.reject(error)
    this.#afterTask()
  }

  #afterTask(): void {
    if (this.#children.size === 0) this.#stopGrace()
    else this.#armGrace()
    this.#checkEnd()
  }

  #checkEnd(): void {
    if (!this.#joining || this.#ended || this.#children.size + this.#shielded.size > 0) return
    this.#ended = true
    this.#deadlineTimer?.cancel()
    this.#outer?.[Symbol.dispose]()
    const [first] = this.#errors
    if (this.#errors.length > 0) {
      this.#end.reject(
        new HeddleError(
          'HDL_SCOPE_FAILED',
          { count: this.#errors.length, first: describe(first) },
          { errors: [...this.#errors], cause: this.#stopped ?? first },
        ),
      )
    } else if (this.#stopped !== undefined) {
      this.#end.reject(this.#stopped)
    } else {
      this.#end.resolve()
    }
  }
}

/** Whether the error is how code answers an abort of this signal. */
function isCancellation(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false
  return (
    error === signal.reason ||
    isError(error, 'HDL_CANCELLED') ||
    (error instanceof Error && error.name === 'AbortError')
  )
}

/**
 * Opens a scope: children started in it end before the block does.
 *
 * The deadline counts from the call. When it passes, the children are asked to stop and the block
 * ends with `HDL_TIMEOUT`.
 *
 * @example
 * await using scope = openScope({ deadline: 10_000, signal })
 * const left = scope.start(({ signal }) => load('left', signal))
 * const right = scope.start(({ signal }) => load('right', signal))
 * show(await left, await right)
 */
export function openScope(options: ScopeOptions = {}): Scope {
  return new Scope(options)
}

/**
 * Runs a block in a scope of its own: when the block throws, the children are cancelled too, which
 * `await using` cannot do. Ends when everything inside has ended.
 *
 * *Cancellation*: as {@link Scope.join}; the block's own code sees it by `scope.signal`.
 * *Fairness*: none needed.
 *
 * @example
 * const page = await withScope(async (scope) => {
 *   const text = scope.start(({ signal }) => loadText(signal))
 *   const image = scope.start(({ signal }) => loadImage(signal))
 *   return render(await text, await image)
 * }, { deadline: 5000 })
 */
export async function withScope<T>(
  block: (scope: Scope) => T | PromiseLike<T>,
  options: ScopeOptions = {},
): Promise<T> {
  const scope = openScope(options)
  const result = scope.start(() => block(scope), { name: 'block' })
  await scope.join()
  return result
}
