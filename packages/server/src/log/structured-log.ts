/**
 * The structured log: one JSON object for each line, written by pino.
 *
 *   open ── a line ─▶ buffer ── the system is ready ─▶ file          buffer full ─▶ the line is dropped and counted
 *     └── stop ─▶ what is in the buffer is written, for at most a moment ─▶ closed
 *
 * Invariants, quoted by the tests:
 *  G1  Every refusal, cancel, timeout, broken pipe and error of a job is exactly one line. A request and the
 *      computation that it waits for are two things: each has its own line, and `handle` connects them.
 *  G2  No line holds an input, a result, a header, a query, a password or a token. Fields that the operator names, and
 *      fields whose name says that they are secret, are replaced. The text of a job's error is the `reason`.
 *  G3  Writing never blocks the loop, and its buffer is bounded: what does not fit is dropped, counted, and reported in
 *      a line as soon as there is room.
 *  G4  A log that cannot be written ends nothing: it is reported once, and counted.
 */
import { open } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { HeddleError } from '@heddle/core'
import {
  checkOptions,
  checkWord,
  describe,
  withoutPasswords,
  type Kernel,
  type OptionNames,
} from '@heddle/core/lowlevel'
import { destination, pino, type Logger } from 'pino'
import { levelOf, logLevels, type LogEvent, type LogLevel } from './log-event.ts'

export interface LogOptions {
  /** A file, which is appended to and made with its folder; `-` is the standard error; or whatever has `write`. */
  readonly to: string | { write(line: string): void }
  /** Lines below it are not written. `info` when absent. */
  readonly level?: LogLevel | undefined
  /**
   * Names of fields whose values are replaced by `[redacted]`, in addition to the fixed ones: `reason`, `caller`,
   * `address`.
   */
  readonly redact?: readonly string[] | undefined
}

const optionNames = { to: 1, level: 1, redact: 1 } satisfies OptionNames<LogOptions>

export interface LogStats {
  readonly written: number
  /** The buffer was full. */
  readonly dropped: number
  /** The file could not be written. */
  readonly failed: number
}

/** G2: whatever is logged under such a name. */
const secretFields = ['authorization', 'cookie', 'input', 'password', 'result', 'secret', 'token']

const bearer = /\b(Bearer|Basic)\s+[\w.~+/=-]+/gi
/** Matches `token=…` and `"password": "…"`. */
const named = /\b(authorization|cookie|password|secret|token)(["']?\s*[:=]\s*["']?)[^\s"',;]+/gi

const fieldName = /^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$*][\w$]*)*$/

/** Characters of a reason: a job may say anything. */
const longestReason = 1_000
/** Bytes that wait for the file. */
const mostBuffered = 8 * 2 ** 20
/** Milliseconds for the last lines. */
const flushWithin = 1_000

/** A number, which pino closes: an object would close the file when it is collected. */
const openFd = promisify(open)

/** What pino writes to when it writes to a file. */
type FileStream = ReturnType<typeof destination>

/** @throws `HDL_BAD_OPTION`, `HDL_UNKNOWN_OPTION`. */
export function checkLogOptions(options: LogOptions): void {
  checkOptions(options, optionNames, 'log')
  const { to, level, redact = [] } = options
  const isTarget = typeof to === 'string' ? to !== '' : typeof to?.write === 'function'
  if (!isTarget) {
    const expected = 'a file, "-", or an object with `write`'
    throw new HeddleError('HDL_BAD_OPTION', { option: 'log.to', value: to, expected })
  }
  if (level !== undefined) checkWord('log.level', level, logLevels)
  const isNames = Array.isArray(redact) && redact.every((name) => fieldName.test(String(name)))
  if (isNames) return
  const expected = 'a list of names of fields, such as ["reason", "caller"]'
  throw new HeddleError('HDL_BAD_OPTION', { option: 'log.redact', value: redact, expected })
}

export class StructuredLog {
  readonly #pino: Logger
  readonly #file: FileStream | undefined
  readonly #kernel: Kernel
  readonly #onProblem: (text: string) => void
  #written = 0
  #dropped = 0
  #reported = 0
  #failed = 0
  #isStopped = false

  private constructor(
    options: LogOptions,
    file: FileStream | undefined,
    kernel: Kernel,
    onProblem: (text: string) => void,
  ) {
    const { to, level = 'info', redact = [] } = options
    this.#kernel = kernel
    this.#file = file
    this.#onProblem = onProblem
    const names = [...new Set([...secretFields, ...redact])]
    this.#pino = pino(
      {
        level,
        base: { pid: process.pid },
        timestamp: () => `,"time":"${new Date(kernel.clock.wallTime()).toISOString()}"`,
        formatters: { level: (label) => ({ level: label }) },
        redact: { paths: names.flatMap((name) => [name, `*.${name}`]), censor: '[redacted]' },
      },
      file ?? (to as { write(line: string): void }),
    )
    file?.on('drop', () => this.#dropped++)
    file?.on('drain', () => this.#reportDropped())
    file?.on('error', (error: Error) => this.#onFailure(error))
  }

  /**
   * Opens the file.
   *
   * *Cancellation*: none: it waits for the disk.
   * @param onProblem Called once when the file cannot be written any more.
   * @throws `HDL_BAD_OPTION` when it cannot be opened.
   */
  static async open(
    options: LogOptions,
    kernel: Kernel,
    onProblem: (text: string) => void,
  ): Promise<StructuredLog> {
    checkLogOptions(options)
    const file = typeof options.to === 'string' ? await openFile(options.to) : undefined
    return new StructuredLog(options, file, kernel, onProblem)
  }

  /** A message of a part of the server, in words. */
  say(level: 'info' | 'warning', text: string): void {
    this.#write(level === 'warning' ? 'warn' : 'info', { event: 'message' }, withoutSecrets(text))
  }

  note(event: LogEvent): void {
    const { reason } = event
    const shown = reason === undefined ? event : { ...event, reason: withoutSecrets(reason) }
    this.#write(levelOf(event), shown)
  }

  stats(): LogStats {
    return { written: this.#written, dropped: this.#dropped, failed: this.#failed }
  }

  /** Writes the remaining lines. Harmless twice. *Cancellation*: none: it waits for a moment only. */
  async stop(): Promise<void> {
    const file = this.#file
    if (file === undefined || this.#isStopped) return
    this.#isStopped = true
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = this.#kernel.clock.setTimer(flushWithin, resolve)
    file.once('close', resolve)
    file.end()
    await promise
    timer.cancel()
    file.destroy()
  }

  #write(level: LogLevel, fields: object, text?: string): void {
    if (this.#isStopped) return
    this.#written++
    try {
      this.#pino[level](fields, text)
    } catch (error) {
      this.#onFailure(error)
    }
  }

  /** G3: there is room again. */
  #reportDropped(): void {
    const dropped = this.#dropped - this.#reported
    if (dropped === 0 || this.#isStopped) return
    this.#reported = this.#dropped
    this.#pino.warn({ event: 'message', dropped }, 'Lines of this log were dropped.')
  }

  /** G4. */
  #onFailure(error: unknown): void {
    this.#failed++
    if (this.#failed > 1) return
    this.#onProblem(`The structured log cannot be written: ${describe(error)}`)
  }
}

/** What a text says without passwords and tokens, and not more of it than fits a line. */
export function withoutSecrets(text: string): string {
  // More than is shown: a secret must not be cut before it is found.
  const shown = withoutPasswords(text.slice(0, 4 * longestReason))
    .replaceAll(bearer, '$1 [redacted]')
    .replaceAll(named, '$1$2[redacted]')
  return shown.length > longestReason ? `${shown.slice(0, longestReason)}…` : shown
}

/** @throws `HDL_BAD_OPTION`. */
async function openFile(to: string): Promise<FileStream> {
  let dest = 2
  try {
    if (to !== '-') {
      await mkdir(path.dirname(to), { recursive: true })
      dest = await openFd(to, 'a')
    }
  } catch (cause) {
    const expected = `a file that can be written (${describe(cause)})`
    throw new HeddleError('HDL_BAD_OPTION', { option: 'log.to', value: to, expected }, { cause })
  }
  return destination({ dest, sync: false, maxLength: mostBuffered })
}
