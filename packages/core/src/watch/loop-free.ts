import { HeddleError } from '../errors.ts'
import { startBeat } from '../kernel/beat.ts'
import { checkDuration, checkOptions, type OptionNames } from '../kernel/check.ts'
import { runBlamed } from './blame.ts'
import { describeGap, GapLog, type LoopGap } from './gap-log.ts'
import { LoopWatch } from './loop-watch.ts'

/** A beat each millisecond: precise, and too costly for anything but a test. */
const finestInterval = 1

/**
 * Runs `work` and returns its value with the longest time, in milliseconds, that the event loop
 * did not turn meanwhile because of code: time in which the machine ran something else is taken off.
 *
 * *Cancellation*: it ends with `work`.
 * *Fairness*: does not apply.
 *
 * @example
 * const { longest } = await measureLoopGap(() => run(graph))
 */
export async function measureLoopGap<T>(
  work: () => T | PromiseLike<T>,
): Promise<{ longest: number; value: T }> {
  const log = new GapLog({ interval: finestInterval, threshold: Infinity, keep: 0 })
  const beat = startBeat(finestInterval, (pulse) => void log.record(pulse, 0, undefined))
  try {
    const value = await work()
    // A block at the very end has no beat after it yet.
    beat.flush()
    return { longest: log.longest, value }
  } finally {
    beat.stop()
  }
}

export interface LoopFreeOptions {
  /** Named in the error when `work` itself, and no job in it, is to blame. */
  readonly label?: string
}

const optionNames = {
  label: 1,
} satisfies OptionNames<LoopFreeOptions>

/**
 * Runs `work` and fails when the event loop was blocked for longer than `limit` milliseconds
 * during that time; the error names the cause. Returns the value of `work`.
 *
 * Real time is measured: leave room in the limit for a busy machine.
 *
 * *Cancellation*: it ends with `work`.
 * *Fairness*: does not apply.
 *
 * @throws `HDL_LOOP_BLOCKED`
 * @example
 * await expectLoopFree(50, () => service.handle(request))
 */
export async function expectLoopFree<T>(
  limit: number,
  work: () => T | PromiseLike<T>,
  options: LoopFreeOptions = {},
): Promise<T> {
  checkOptions(options, optionNames)
  checkDuration('limit', limit)
  const gaps: LoopGap[] = []
  await using watch = new LoopWatch({ threshold: limit, interval: finestInterval, keep: 1 })
  await watch.start()
  watch.onGap((gap) => {
    if (gaps.push(gap) > 1) gaps.sort((a, b) => b.ms - a.ms).length = 1
  })
  const { label } = options
  const value = await (label === undefined ? work() : runBlamed(label, work))
  // Stopping reports a block at the very end, which has no beat after it yet.
  await watch.stop()
  const [worst] = gaps
  if (worst !== undefined) {
    throw new HeddleError('HDL_LOOP_BLOCKED', {
      longest: worst.ms,
      limit,
      blame: describeGap(worst),
    })
  }
  return value
}
