/**
 * Single keys from a terminal.
 *
 *   listening ──ctrl-z──▶ suspended ──SIGCONT──▶ listening
 *       └────dispose, end of input, process exit────▶ closed
 *
 * Invariants, quoted by the tests:
 *  I1  Raw mode is on exactly while listening; in the other states the terminal is as it was found.
 *  I2  Listening never keeps the process alive, and closing never waits: there is no blocking read.
 *  I3  After closing, nothing of ours listens on the input or the process.
 *  I4  Without a terminal nothing is touched.
 *
 * Known limits: a program that was stopped and is continued in the background (`bg`) is stopped
 * again by the system when it sets raw mode, as every program is that uses the terminal this way.
 */
import { StringDecoder } from 'node:string_decoder'
import type { ReadStream } from 'node:tty'
import { checkOptions, type OptionNames } from '../kernel/check.ts'
import type { Clock } from '../kernel/clock.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { decodeKeys } from './key-names.ts'

/** The part of a terminal's input that is used: `process.stdin` has it. */
export type KeyInput = Pick<
  ReadStream,
  | 'isTTY'
  | 'isRaw'
  | 'setRawMode'
  | 'destroyed'
  | 'readable'
  | 'isPaused'
  | 'on'
  | 'off'
  | 'listenerCount'
  | 'resume'
  | 'pause'
  | 'ref'
  | 'unref'
>

export interface KeyOptions {
  /**
   * Stops the process (and its group, as the terminal would) on Ctrl+Z, with the terminal as it
   * was, and listens again when it is continued. True when absent; when false, `ctrl-z` is a key.
   */
  readonly suspend?: boolean
  readonly kernel?: Kernel
}

export interface KeyListener extends Disposable {
  /** Whether keys are heard. */
  readonly active: boolean
  /** Why they are not. */
  readonly reason: string | undefined
}

class Terminal implements KeyListener {
  readonly #input: KeyInput
  readonly #onKey: (key: string) => void
  readonly #suspends: boolean
  readonly #clock: Clock
  readonly #wasRaw: boolean
  /** Another reader uses this input too: it must keep flowing after us. */
  readonly #isShared: boolean
  readonly #decoder = new StringDecoder('utf8')
  #reason: string | undefined

  constructor(input: KeyInput, onKey: (key: string) => void, options: KeyOptions) {
    this.#input = input
    this.#onKey = onKey
    this.#suspends = options.suspend ?? true
    this.#clock = (options.kernel ?? systemKernel).clock
    this.#wasRaw = input.isRaw
    this.#isShared = input.listenerCount('data') + input.listenerCount('readable') > 0
    input.setRawMode(true)
    input.on('data', this.#onData)
    input.on('end', this.#onEnd)
    input.on('close', this.#onEnd)
    input.on('error', this.#onEnd)
    process.on('SIGCONT', this.#onContinue)
    // Node resets the terminal itself at most exits; this one does not depend on which.
    process.on('exit', this.#onExit)
    input.resume()
    if (!this.#isShared) input.unref()
  }

  get active(): boolean {
    return this.#reason === undefined
  }

  get reason(): string | undefined {
    return this.#reason
  }

  readonly #onData = (chunk: Buffer | string): void => {
    const text = typeof chunk === 'string' ? chunk : this.#decoder.write(chunk)
    for (const key of decodeKeys(text)) {
      // A key may close the listener: keys typed after it are not ours any more.
      if (!this.active) return
      if (key === 'ctrl-z' && this.#suspends) this.#suspend()
      else this.#onKey(key)
    }
  }

  readonly #onEnd = (): void => this.#close('the input has ended')
  readonly #onExit = (): void => this.#close('the process has ended')
  readonly #onContinue = (): void => {
    if (!this.active) return
    this.#setRaw(true)
  }

  #suspend(): void {
    this.#setRaw(this.#wasRaw)
    // 0 is the whole group: stopping only ourselves would leave `npm run` waiting in front of us.
    process.kill(0, 'SIGTSTP')
    // The system ignores it when no shell could continue us; then there is no SIGCONT either.
    this.#clock.afterIo(this.#onContinue)
  }

  #setRaw(raw: boolean): void {
    try {
      this.#input.setRawMode(raw)
    } catch {
      // The terminal is gone, and its mode with it.
    }
  }

  #close(reason: string): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    const input = this.#input
    input.off('data', this.#onData)
    input.off('end', this.#onEnd)
    input.off('close', this.#onEnd)
    process.off('SIGCONT', this.#onContinue)
    process.off('exit', this.#onExit)
    if (!input.destroyed) this.#setRaw(this.#wasRaw)
    if (!this.#isShared) {
      input.pause()
      input.ref()
    }
    input.off('error', this.#onEnd)
  }

  [Symbol.dispose](): void {
    this.#close('the listener was disposed')
  }
}

function whyNot(input: KeyInput): string | undefined {
  if (!input.isTTY) return 'the input is not a terminal'
  if (input.destroyed || !input.readable) return 'the input is closed'
  return undefined
}

const optionNames = {
  suspend: 1,
  kernel: 1,
} satisfies OptionNames<KeyOptions>

/**
 * Calls `onKey` with each key that is pressed, until the result is disposed: `p`, `Q`, `ctrl-c`,
 * `enter`, `up`.
 *
 * Ctrl+C is the key `ctrl-c` and not a signal: the caller decides. The terminal gets its mode back
 * on dispose, at the end of the process and while it is suspended. Where there is no terminal
 * nothing happens, and the result says why.
 *
 * @example
 * using keys = listenKeys(process.stdin, (key) => {
 *   if (key === 'p') scheduler.pause()
 *   if (key === 'q' || key === 'ctrl-c') scheduler.cancel()
 * })
 */
export function listenKeys(
  input: KeyInput,
  onKey: (key: string) => void,
  options: KeyOptions = {},
): KeyListener {
  checkOptions(options, optionNames)
  const reason = whyNot(input)
  if (reason !== undefined) return { active: false, reason, [Symbol.dispose]: () => {} }
  return new Terminal(input, onKey, options)
}
