/**
 * Steering a run from outside: keys and signals.
 *
 *   going ──q, Ctrl+C, SIGINT, SIGTERM, SIGHUP──▶ cancelling ──again──▶ aborting ──Ctrl+C, SIGINT──▶ exit
 *     └──SIGTERM, SIGHUP while everything sleeps──▶ exit: the run is left as it is (C5)
 *
 * Invariants, quoted by the tests:
 *  C1  The first request lets running jobs finish, the second aborts them, a third Ctrl+C or SIGINT ends the
 *      process at once. Each one is answered on the screen.
 *  C2  A request that comes before the run has started ends the process, with 143 after SIGTERM: there is
 *      nothing to finish.
 *  C3  SIGUSR1 and SIGUSR2 pause and resume, also before the start, and never end the process.
 *  C4  While the process is stopped (Ctrl+Z) the terminal is as it was before the run.
 *  C5  SIGTERM and SIGHUP end the process of a recorded run without cancelling it, when all that is left of it sleeps
 *      or waits for signals: a restart of the machine or a deploy. Ctrl+\ and SIGQUIT do so at any time.
 */
import type { CancelSource, Scheduler, SchedulerStats } from '@heddle/core'
import {
  controlBySignals,
  listenKeys,
  type Clock,
  type KeyInput,
  type KeyListener,
} from '@heddle/core/lowlevel'
import type { Reporter } from '../output/reporter.ts'
import { plural } from '../text/format.ts'

export interface ControlOptions {
  /** Ends the process at once with this code. */
  readonly exit: (code: number) => void
  /** Ends the process and leaves the run as it is. Returns false where the run could not be resumed. */
  readonly leave?: () => boolean
  /** The process is about to be stopped, or has been continued. */
  readonly onSuspend?: () => void
  readonly onContinue?: () => void
  readonly clock: Clock
}

const cancelledCode = 130
const quitCode = 131
const terminatedCode = 143

/** The source of a cancel, and its name. */
interface Asker {
  readonly by: string
  readonly source: CancelSource
  /** Whether a third request of this kind ends the process. */
  readonly mayExit: boolean
}

const askers = {
  q: { by: 'key q', source: 'user', mayExit: false },
  'ctrl-c': { by: 'Ctrl+C', source: 'user', mayExit: true },
  SIGINT: { by: 'SIGINT', source: 'user', mayExit: true },
  SIGTERM: { by: 'SIGTERM', source: 'shutdown', mayExit: false },
  SIGHUP: { by: 'SIGHUP', source: 'shutdown', mayExit: false },
} as const satisfies Record<string, Asker>

export class Controls implements Disposable {
  readonly #options: ControlOptions
  /** What takes the listeners away again; undefined after the end. */
  #cleanup: (() => void)[] | undefined = []
  #scheduler: Pick<Scheduler, 'pause' | 'resume' | 'cancel' | 'stats' | 'state'> | undefined
  #reporter: Reporter | undefined
  #keys: KeyListener | undefined
  #keyInput: KeyInput | undefined
  #paused = false
  #requests = 0
  #isTerminated = false

  constructor(options: ControlOptions) {
    this.#options = options
    const pause = (): void => this.pause()
    const resume = (): void => this.resume()
    const control = controlBySignals({ pause, resume })
    this.#cleanup?.push(() => control[Symbol.dispose]())
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      this.#onSignal(signal, () => this.cancel(askers[signal]))
    }
    this.#onSignal('SIGCONT', () => this.#reporter?.resume())
    // It is sent to get a process that does not react out of the way: nothing is waited for.
    this.#onSignal('SIGQUIT', () => this.#options.exit(quitCode))
  }

  /** From now on there is something to steer. */
  attach(scheduler: NonNullable<typeof this.scheduler>, reporter: Reporter): void {
    this.#scheduler = scheduler
    this.#reporter = reporter
    if (this.#paused) scheduler.pause()
  }

  get scheduler(): Pick<Scheduler, 'pause' | 'resume' | 'cancel' | 'stats' | 'state'> | undefined {
    return this.#scheduler
  }

  /** Hears keys from a terminal. Where there is none, nothing happens. */
  listen(input: KeyInput): void {
    this.#keyInput = input
    this.#keys = listenKeys(input, (key) => this.press(key), { suspend: false })
  }

  press(key: string): void {
    switch (key) {
      case 'p':
        return this.pause()
      case 'r':
        return this.resume()
      case 'q':
        return this.cancel(askers.q)
      case 'ctrl-c':
        return this.cancel(askers['ctrl-c'])
      case 'ctrl-z':
        return this.#suspend()
      // Ctrl+\ arrives as a key, not as SIGQUIT, and its code is named after the bar, 32 above the backslash's.
      case 'ctrl-|':
        return this.#options.exit(quitCode)
      default:
        this.#reporter?.press(key)
    }
  }

  /** Whether a key or a signal has asked for a cancel. */
  get isAsked(): boolean {
    return this.#requests > 0
  }

  /** Whether SIGTERM has asked for the cancel. */
  get isTerminated(): boolean {
    return this.#isTerminated
  }

  pause(): void {
    this.#paused = true
    this.#scheduler?.pause()
  }

  resume(): void {
    this.#paused = false
    this.#scheduler?.resume()
  }

  cancel({ by, source, mayExit }: Asker): void {
    const scheduler = this.#scheduler
    if (scheduler === undefined) {
      return this.#options.exit(by === askers.SIGTERM.by ? terminatedCode : cancelledCode)
    }
    if (source === 'shutdown' && this.#requests === 0 && isAsleep(scheduler.stats())) {
      if (this.#options.leave?.() === true) return
    }
    this.#requests++
    this.#isTerminated ||= by === askers.SIGTERM.by
    if (this.#requests > 2 && mayExit) return this.#options.exit(cancelledCode)
    if (this.#requests > 2) return
    const abort = this.#requests === 2
    scheduler.cancel({ by, source, abort })
    const { running: count } = scheduler.stats()
    const running = plural(count, 'job')
    const rest = count === 0 ? 'nothing runs' : `${running} may finish`
    this.#reporter?.notice(
      abort
        ? `aborting ${running} (${by}); Ctrl+C ends the process at once`
        : `cancelling (${by}): ${rest}, the rest is skipped; again: abort`,
    )
  }

  /** Gives the keyboard back. Signals are still obeyed. */
  unlisten(): void {
    this.#keys?.[Symbol.dispose]()
    this.#keys = undefined
    this.#keyInput = undefined
  }

  [Symbol.dispose](): void {
    this.unlisten()
    const cleanup = this.#cleanup ?? []
    this.#cleanup = undefined
    for (const undo of cleanup) undo()
  }

  #onSignal(signal: NodeJS.Signals, listener: () => void): void {
    if (process.platform === 'win32' && signal !== 'SIGINT' && signal !== 'SIGTERM') return
    process.on(signal, listener)
    this.#cleanup?.push(() => process.off(signal, listener))
  }

  #suspend(): void {
    this.#keys?.[Symbol.dispose]()
    this.#keys = undefined
    this.#reporter?.suspend()
    this.#options.onSuspend?.()
    process.once('SIGCONT', this.#continue)
    // 0 is the whole group: stopping only ourselves would leave `npx` waiting in front of us.
    process.kill(0, 'SIGTSTP')
    // The system ignores it when no shell could continue us; then there is no SIGCONT either.
    this.#options.clock.afterIo(this.#continue)
  }

  readonly #continue = (): void => {
    process.off('SIGCONT', this.#continue)
    if (this.#keys !== undefined || this.#keyInput === undefined) return
    if (this.#cleanup === undefined) return
    this.listen(this.#keyInput)
    this.#reporter?.resume()
    this.#options.onContinue?.()
  }
}

/** Whether all that is left sleeps or waits for signals. */
function isAsleep({ running, ready, retrying, suspended }: SchedulerStats): boolean {
  return suspended > 0 && running + ready + retrying === 0
}
