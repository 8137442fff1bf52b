/**
 * SIGUSR1 pauses, SIGUSR2 resumes.
 *
 * The process listener is installed once and stays for ever, because of the effects of the signals
 * without one (measured on Node 24): SIGUSR1 opens the inspector on port 9229 if there never was a
 * listener and kills the process if there was one; SIGUSR2 kills it. A second `kill -USR1` that
 * comes a moment after the run ended must do neither. Node keeps such a listener from holding the
 * process open.
 *
 * Invariants, quoted by the tests:
 *  I1  After the first call, neither signal ends the process or opens the inspector, ever.
 *  I2  Listeners of the program are neither removed nor replaced.
 *  I3  Every target that is there when the signal comes is notified, also when one throws.
 */
import { isMainThread } from 'node:worker_threads'

/** What can be paused: a scheduler, a service, or anything of yours. */
export interface Pausable {
  pause(): void
  resume(): void
}

export interface SignalControl extends Disposable {
  /** Whether signals reach the target. */
  readonly active: boolean
  /** Why they do not. */
  readonly reason: string | undefined
}

const targets = new Set<{ readonly target: Pausable }>()

function tellAll(action: (target: Pausable) => void): void {
  const errors: unknown[] = []
  for (const { target } of targets) {
    try {
      action(target)
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}

const onPause = (): void => tellAll((target) => target.pause())
const onResume = (): void => tellAll((target) => target.resume())

function install(): void {
  // Looked up each time: a program may have called removeAllListeners().
  if (!process.listeners('SIGUSR1').includes(onPause)) process.on('SIGUSR1', onPause)
  if (!process.listeners('SIGUSR2').includes(onResume)) process.on('SIGUSR2', onResume)
}

function whyNot(): string | undefined {
  if (process.platform === 'win32') return 'Windows has no SIGUSR1 and SIGUSR2'
  if (!isMainThread) return 'signals reach only the main thread'
  return undefined
}

/**
 * Lets `kill -USR1` pause and `kill -USR2` resume the target, until the result is disposed.
 *
 * Where that is impossible (Windows, any thread but the main one) nothing happens, and the result
 * says why. Call it early: before the first call the signals have Node's own meaning.
 *
 * @example
 * using control = controlBySignals(scheduler)
 * await scheduler.run(publish)
 */
export function controlBySignals(target: Pausable): SignalControl {
  const reason = whyNot()
  const entry = { target }
  if (reason === undefined) {
    install()
    targets.add(entry)
  }
  return {
    active: reason === undefined,
    reason,
    [Symbol.dispose]: () => void targets.delete(entry),
  }
}
