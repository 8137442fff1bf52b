/**
 * The one owner of the end of the process.
 *
 * Code that must run before the process ends, whatever ends it, adds an action here. If
 * every user of signals had a handler, each would believe that it is the last to run: that is
 * how Ctrl+C with five changed files restores one (defects A, B and B2 of the release scenarios).
 *
 * Invariants, quoted by the tests:
 *  I1  Every action runs exactly once, newest first, also when another one throws.
 *  I2  A signal without another listener ends the process as it would have without us: by that
 *      signal. When the program has a listener of its own, that one decides; the actions run when
 *      the process exits.
 *  I3  Without actions nothing of ours listens.
 *
 * SIGKILL, a crash of Node and the end of a thread's process by a signal cannot be seen from here:
 * files that must survive them need a journal.
 */
import { writeSync } from 'node:fs'
import { describe } from '../errors.ts'

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

interface CountingEmitter {
  readonly count?: unknown
}

/**
 * Listeners of the package `signal-exit`, which wait for us to leave as we wait for the program's:
 * both agree on which acts first by not counting each other.
 */
function followers(): number {
  const modern = (globalThis as Record<symbol, unknown>)[Symbol.for('signal-exit emitter')]
  const older = (process as unknown as Record<string, unknown>)['__signal_exit_emitter__']
  let count = 0
  for (const emitter of [modern, older] as (CountingEmitter | undefined)[]) {
    if (typeof emitter?.count === 'number') count += emitter.count
  }
  return count
}

class ExitGuard {
  readonly #actions = new Set<() => void>()

  add(action: () => void): void {
    if (this.#actions.size === 0) this.#listen()
    this.#actions.add(action)
  }

  remove(action: () => void): void {
    if (this.#actions.delete(action) && this.#actions.size === 0) this.#leave()
  }

  #listen(): void {
    process.on('exit', this.#runAll)
    // In a thread Node accepts the listeners and never calls them.
    for (const signal of endingSignals) process.on(signal, this.#onSignal)
  }

  #leave(): void {
    process.off('exit', this.#runAll)
    for (const signal of endingSignals) process.off(signal, this.#onSignal)
  }

  readonly #onSignal = (signal: NodeJS.Signals): void => {
    if (process.listenerCount(signal) > 1 + followers()) return
    this.#runAll()
    // Without listeners the signal has its usual effect, and the parent sees the usual exit code.
    process.kill(process.pid, signal)
  }

  readonly #runAll = (): void => {
    const actions = [...this.#actions].reverse()
    this.#actions.clear()
    this.#leave()
    for (const action of actions) {
      try {
        action()
      } catch (error) {
        process.exitCode ||= 1
        report(error)
      }
    }
  }
}

/** Straight to the terminal: streams may not be flushed any more. */
function report(error: unknown): void {
  try {
    // oxlint-disable-next-line node/no-sync -- the process is ending: there is no later
    writeSync(2, `${describe(error)}\n`)
  } catch {
    // There is no caller left to report it to.
  }
}

/** On the global object: several copies of this package must not take each other for the program. */
const guard: ExitGuard = ((globalThis as Record<symbol, unknown>)[
  Symbol.for('heddle.exit-guard')
] ??= new ExitGuard()) as ExitGuard

/**
 * Runs `action` when the process ends by exit, an uncaught error, SIGINT, SIGTERM or SIGHUP, unless
 * the result is disposed before. The action must be synchronous: nothing runs after it.
 *
 * What it throws is written to the standard error, and the exit code becomes 1 if it was 0.
 *
 * @example
 * using guard = beforeExit(() => rmSync(temporary, { force: true }))
 */
export function beforeExit(action: () => void): Disposable {
  // Each registration counts for itself, also with the same function twice.
  const own = (): void => action()
  guard.add(own)
  return { [Symbol.dispose]: () => guard.remove(own) }
}
