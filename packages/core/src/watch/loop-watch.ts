/**
 * Event-loop blame.
 *
 * Its life is that of kernel/service.ts: it is starting until the thread is up, or cannot be.
 *
 * A beat on the loop changes a word in shared memory. A thread sleeps on that word; when the next
 * beat is overdue it interrupts the stuck code once and lets it note its own label and stack. The
 * beat that ends the gap completes its length and reports it.
 *
 * Invariants, quoted by the tests:
 *  I1  Every block of `threshold + interval` milliseconds is reported, none shorter than `threshold`.
 *  I2  Label and stack belong to the gap they are reported with: an answer that comes after the
 *      next beat is refused, one that comes late is marked `certain: false`.
 *  I3  The watched code is never paused, and no inspector port is opened.
 *  I4  Neither beat nor thread keeps the process alive; stop() leaves nothing behind.
 *  I5  Memory is bounded: `keep` gaps of `depth` frames, one histogram.
 *  I6  Without inspector or threads the gaps are still measured, without label and stack.
 *  I7  Time in which the machine had no processor for the loop's thread is not blamed on any code.
 *  I8  A synchronous function of Node that blocks is blamed on the line that calls it.
 *  I9  A gap that would be too short to report without the garbage collector is reported as the collector's, not as any
 *      code's. It is known a few turns later which gaps that are, so gaps are reported then; stop() waits for it.
 *
 * Known limits: code inside a native call that V8 cannot interrupt and native-calls.ts does not know
 * (an addon) is seen right after the call. Several callbacks that block together count as one gap, and
 * the one that runs when the threshold is passed takes the blame. Off the main thread there are no
 * stacks.
 */
import { checkCount, checkDuration, checkOptions, type OptionNames } from '../kernel/check.ts'
import { startBeat, type Beat, type Pulse } from '../kernel/beat.ts'
import { systemClock } from '../kernel/clock.ts'
import { openCollector, turnsUntilReported, type Collector } from '../kernel/collector.ts'
import type { HistogramSnapshot } from '../kernel/histogram.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { openProcessor, type Processor } from '../kernel/processor.ts'
import { Life, type Service, type ServiceState, type StopOptions } from '../kernel/service.ts'
import { waitFor } from '../kernel/wait-for.ts'
import type { WaitOptions } from '../kernel/waiters.ts'
import { countWatch, currentBlame } from './blame.ts'
import { currentStack } from './short-stack.ts'
import { GapLog, type Evidence, type LoopGap, type StarvedGaps } from './gap-log.ts'
import { watchNativeCalls } from './native-calls.ts'
import { Watchdog } from './watchdog.ts'

export interface LoopWatchOptions {
  /** Shortest gap to report, in milliseconds. 100 when absent. */
  readonly threshold?: number
  /** Milliseconds between beats: the precision, and the cost. Half the threshold when absent. */
  readonly interval?: number
  /** How many gaps to remember. 50 when absent. */
  readonly keep?: number
  /** How many frames of a stack to keep. 20 when absent. */
  readonly depth?: number
  /**
   * Whether `JSON.parse`, `fs.readFileSync` and their like are replaced while the watch runs, so that
   * a gap inside them is blamed on the line that called them. True when absent.
   */
  readonly nativeCalls?: boolean
  /** Where the processor times of the loop's thread come from: the system when absent. */
  readonly processor?: () => Processor
  /** Where the pauses of the garbage collector come from: V8 when absent. */
  readonly collector?: () => Collector
  readonly kernel?: Kernel
}

export interface LoopWatchStats {
  readonly state: ServiceState
  readonly threshold: number
  readonly interval: number
  /** Why gaps come without a stack; undefined when they come with one. */
  readonly blindness: string | undefined
  /** Gaps reported so far. */
  readonly gaps: number
  /** The longest gap so far in milliseconds, also below the threshold. */
  readonly longest: number
  /** Gaps that the machine caused: it had no processor for the loop. They are not in the other figures. */
  readonly starved: StarvedGaps
  /** The last gaps, oldest first. */
  readonly recent: readonly LoopGap[]
  /** How late the beats were, in milliseconds. */
  readonly delays: HistogramSnapshot
  /** How often a listener threw. */
  readonly listenerErrors: number
}

/** An answer that took longer than this, or than half the threshold, was not taken at the moment of the question. */
const promptAnswer = 50

interface UnreportedGap {
  readonly pulse: Pulse
  readonly wallTime: number
  readonly evidence: Evidence | undefined
  /** The end on the scale of the system's clock. */
  readonly endedAt: number
}

const optionNames = {
  threshold: 1,
  interval: 1,
  keep: 1,
  depth: 1,
  nativeCalls: 1,
  processor: 1,
  collector: 1,
  kernel: 1,
} satisfies OptionNames<LoopWatchOptions>

/** Watches the event loop of the main thread and names what blocks it. */
export class LoopWatch implements Service, AsyncDisposable {
  readonly #threshold: number
  readonly #interval: number
  /** Half-way to a reportable gap: looking only at the end would find short ones already over. */
  readonly #patience: number
  readonly #promptAnswer: number
  readonly #depth: number
  readonly #nativeCalls: boolean
  readonly #openProcessor: () => Processor
  readonly #openCollector: () => Collector
  readonly #kernel: Kernel
  readonly #log: GapLog
  readonly #listeners = new Set<(gap: LoopGap) => void>()
  readonly #life: Life
  #beat: Beat | undefined
  #watchdog: Watchdog | undefined
  #natives: Disposable | undefined
  #collector: Collector | undefined
  /** Gaps for which the collector's share is not known yet. */
  readonly #unreported = new Set<UnreportedGap>()
  #evidence: Evidence | undefined
  #blindness: string | undefined = 'the watch has not been started'
  #listenerErrors = 0

  /** @throws `HDL_BAD_OPTION` */
  constructor(options: LoopWatchOptions = {}) {
    checkOptions(options, optionNames)
    this.#threshold = checkDuration('threshold', options.threshold ?? 100)
    this.#interval = checkCount(
      'interval',
      options.interval ?? Math.max(1, Math.round(this.#threshold / 2)),
    )
    this.#patience = this.#interval + this.#threshold / 2
    this.#promptAnswer = Math.min(promptAnswer, this.#threshold / 2)
    this.#depth = checkCount('depth', options.depth ?? 20)
    this.#nativeCalls = options.nativeCalls ?? true
    this.#openProcessor = options.processor ?? openProcessor
    this.#openCollector = options.collector ?? openCollector
    this.#kernel = options.kernel ?? systemKernel
    this.#log = new GapLog({
      threshold: this.#threshold,
      interval: this.#interval,
      keep: checkCount('keep', options.keep ?? 50),
    })
    this.#life = new Life({
      what: 'The loop watch',
      clock: this.#kernel.clock,
      // Ending a thread takes milliseconds, and there is no work to wait for.
      deadline: Infinity,
      start: (signal) => this.#begin(signal),
      stop: () => this.#end(),
    })
  }

  /**
   * Starts measuring at once, and resolves when stacks can be taken too, or when it is known that
   * they cannot (see `blindness`). It does nothing when the watch runs.
   *
   * *Cancellation*: ends the wait; the watch continues to start.
   * *Fairness*: all callers resolve together, in the order of their calls.
   */
  start(options: WaitOptions = {}): Promise<void> {
    return waitFor(this.#life.start(), 'Starting the loop watch', this.#kernel.clock, options)
  }

  async #begin(signal: AbortSignal): Promise<void> {
    this.#blindness = 'the watch is starting'
    this.#evidence = undefined
    countWatch(1)
    const { promise: isUp, resolve } = Promise.withResolvers<void>()
    const watchdog = new Watchdog(
      this.#patience,
      (beat) => this.#look(beat),
      (blindness) => {
        if (this.#watchdog === watchdog) this.#blindness = blindness
        resolve()
      },
    )
    this.#watchdog = watchdog
    if (this.#nativeCalls) this.#natives = watchNativeCalls((name) => this.#onNativeReturn(name))
    this.#collector = this.#openCollector()
    const onBeat = (pulse: Pulse): void => this.#onBeat(pulse)
    this.#beat = startBeat(this.#interval, onBeat, this.#openProcessor())
    signal.addEventListener('abort', () => resolve(), { once: true })
    await isUp
  }

  /** I8: a native call has returned, and its caller is still on the stack. */
  #onNativeReturn(name: string): void {
    if (this.#watchdog?.isLate !== true || this.#evidence !== undefined) return
    const { frames } = currentStack(this.#depth)
    const stack = [...frames.slice(0, this.#depth - 1), name]
    this.#evidence = { label: currentBlame(), stack, certain: true, inNode: true }
  }

  /** Runs as an interrupt in the middle of the stuck code: it only takes notes. */
  #look(beat: number): void {
    if (this.#watchdog?.beats !== beat || this.#beat === undefined) return
    // The causing native call has reported itself: this evidence came later.
    if (this.#evidence !== undefined) return
    const overdue = this.#beat.elapsed() - this.#patience
    const { frames, inNode, isReturning } = currentStack(this.#depth)
    const certain = isReturning || overdue < this.#promptAnswer
    this.#evidence = { label: currentBlame(), stack: frames, certain, inNode }
  }

  #onBeat(pulse: Pulse): void {
    this.#watchdog?.beat()
    const evidence = this.#evidence
    this.#evidence = undefined
    const wallTime = this.#kernel.clock.wallTime()
    if (!this.#log.isGap(pulse, evidence)) {
      this.#log.record(pulse, wallTime, evidence)
      return
    }
    const gap = { pulse, wallTime, evidence, endedAt: systemClock.now() }
    this.#unreported.add(gap)
    this.#reportAfter(turnsUntilReported, gap)
  }

  /** I9. */
  #reportAfter(turns: number, gap: UnreportedGap): void {
    if (turns > 0) systemClock.afterIo(() => this.#reportAfter(turns - 1, gap))
    else if (this.#unreported.delete(gap)) this.#report(gap)
  }

  #report({ pulse, wallTime, evidence, endedAt }: UnreportedGap): void {
    const collected = this.#collector?.within(endedAt - pulse.elapsed, endedAt)
    const gap = this.#log.record(pulse, wallTime, evidence, collected)
    if (gap === undefined) return
    for (const listener of this.#listeners) {
      try {
        listener(gap)
      } catch {
        this.#listenerErrors++
      }
    }
  }

  /**
   * Stops measuring at once, after reporting a gap that is just ending, and resolves when the
   * thread is gone. Calling it again is harmless. The watch can be started again.
   *
   * *Cancellation*: cannot be cancelled; ending a thread takes milliseconds.
   * *Fairness*: all callers resolve together.
   */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#life.stop(options)
  }

  async #end(): Promise<void> {
    this.#beat?.flush()
    this.#beat?.stop()
    this.#beat = undefined
    this.#natives?.[Symbol.dispose]()
    this.#natives = undefined
    this.#blindness = 'the watch was stopped'
    countWatch(-1)
    while (this.#unreported.size > 0) await new Promise<void>((turn) => systemClock.afterIo(turn))
    this.#collector?.[Symbol.dispose]()
    this.#collector = undefined
    const watchdog = this.#watchdog
    this.#watchdog = undefined
    await watchdog?.end()
  }

  /** Forgets all gaps up to now: for a watch that was started before there was something to watch. */
  forget(): void {
    this.#beat?.flush()
    this.#unreported.clear()
    this.#log.forget()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  /**
   * Calls `listener` with every gap, on the loop, once it moves again. A listener that throws
   * changes nothing for the others. Dispose the result to stop listening.
   */
  onGap(listener: (gap: LoopGap) => void): Disposable {
    // Each registration counts for itself, also with the same function twice.
    const own = (gap: LoopGap): void => listener(gap)
    this.#listeners.add(own)
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) }
  }

  stats(): LoopWatchStats {
    return {
      state: this.#life.state,
      threshold: this.#threshold,
      interval: this.#interval,
      blindness: this.#blindness,
      gaps: this.#log.gaps,
      longest: this.#log.longest,
      starved: this.#log.starved,
      recent: this.#log.recent,
      delays: this.#log.delays,
      listenerErrors: this.#listenerErrors,
    }
  }
}
