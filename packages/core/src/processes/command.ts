import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { HeddleError, cancelled, describe } from '../errors.ts'
import { followAbort, unfollowAbort, type AbortFollower } from '../kernel/abort.ts'
import { checkDuration, checkOptions, type OptionNames } from '../kernel/check.ts'
import type { Clock, Timer } from '../kernel/clock.ts'
import { systemKernel, type Kernel } from '../kernel/kernel.ts'
import { Tail } from './tail.ts'

export interface CommandOptions {
  readonly cwd?: string
  /** The whole environment of the command. The one of this process when absent. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** What the command reads from its standard input. Nothing when absent. */
  readonly input?: string
  /** Ends the command: SIGTERM to its process group, then SIGKILL after `grace`. */
  readonly signal?: AbortSignal
  /** Milliseconds after which it is ended in the same way. No limit when absent. */
  readonly deadline?: number
  /** Milliseconds between the two, and how long output is waited for after the process has ended. Default 5,000. */
  readonly grace?: number
  /** Bytes kept of each output: the last ones. Default 64 KiB. */
  readonly keep?: number
  readonly kernel?: Kernel
}

export interface CommandResult {
  readonly stdout: string
  readonly stderr: string
}

const optionNames = {
  cwd: 1,
  env: 1,
  input: 1,
  signal: 1,
  deadline: 1,
  grace: 1,
  keep: 1,
  kernel: 1,
} satisfies OptionNames<CommandOptions>

/**
 * Runs a command in a process group of its own and waits until it is gone.
 *
 * The group matters: a build tool's children go with it when a job times out, so a second attempt
 * never runs beside the first (R3). A command that fails is an error, with the end of its output (R1).
 *
 * A process that the command leaves behind may hold its output open. Output later than `grace`
 * after the command's end is not awaited.
 *
 * *Cancellation*: the promise rejects only after the process has ended.
 * *Fairness*: none needed; every call has its own process.
 * @throws `HDL_COMMAND_FAILED` when it cannot be started or ends with anything but 0; `HDL_CANCELLED` when aborted;
 * `HDL_TIMEOUT` when the deadline has passed.
 */
export async function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  checkOptions(options, optionNames)
  const { signal, input, keep = 65_536, kernel = systemKernel } = options
  const grace = checkDuration('grace', options.grace ?? 5_000)
  const deadline = checkDuration('deadline', options.deadline ?? Infinity)
  const command = [file, ...args].join(' ')
  if (signal?.aborted) throw cancelled(command, signal.reason)

  const stdout = new Tail(keep)
  const stderr = new Tail(keep)
  const child = start(command, file, args, {
    cwd: options.cwd,
    env: options.env ?? process.env,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    // Windows has no process groups: there only the process itself is ended.
    detached: process.platform !== 'win32',
  })
  // Without file handles there are no streams: the process reports an error instead.
  child.stdout?.on('data', (chunk: Buffer) => stdout.push(chunk))
  child.stderr?.on('data', (chunk: Buffer) => stderr.push(chunk))
  // A command may end without reading its input; how it ended says whether that is a failure.
  child.stdin?.on('error', () => undefined).end(input)

  const ended = new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, killedBy) => {
      if (code === 0) resolve(undefined)
      else resolve(code === null ? `ended by ${killedBy}` : `exit code ${code}`)
    })
  })
  const stopper = new Stopper(child, grace, kernel.clock)
  if (signal !== undefined) followAbort(signal, stopper)
  let isLate = false
  const onDeadline = (): void => {
    isLate = true
    stopper.onAbort()
  }
  const timer = deadline === Infinity ? undefined : kernel.clock.setTimer(deadline, onDeadline)
  const problem = await ended
  timer?.cancel()
  if (signal !== undefined) unfollowAbort(signal, stopper)
  stopper.done()

  if (isLate) throw new HeddleError('HDL_TIMEOUT', { what: command, limit: deadline })
  if (signal?.aborted) throw cancelled(command, signal.reason)
  if (problem !== undefined) {
    const said = stderr.text.trim() || stdout.text.trim()
    throw new HeddleError('HDL_COMMAND_FAILED', { command, problem, said })
  }
  return { stdout: stdout.text, stderr: stderr.text }
}

/** Node reports most failures to start as an event, and throws for others (too many arguments, no memory). */
function start(
  command: string,
  file: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  try {
    return spawn(file, args, options)
  } catch (error) {
    throw new HeddleError(
      'HDL_COMMAND_FAILED',
      { command: shortened(command), problem: describe(error), said: '' },
      { cause: error },
    )
  }
}

/** The system may have refused the length of the command itself. */
function shortened(command: string): string {
  return command.length > 500 ? `${command.slice(0, 500)}…` : command
}

/**
 * Sees to it that a command ends (law 3).
 *
 *   aborted ──SIGTERM──▶ grace ──SIGKILL──▶ grace ──▶ its output is closed
 *   exited ────────────────────────────────▶ grace ──▶ its output is closed
 */
class Stopper implements AbortFollower {
  list: object | undefined
  previous: AbortFollower | undefined
  next: AbortFollower | undefined
  readonly #child: ChildProcess
  readonly #grace: number
  readonly #clock: Clock
  #timer: Timer | undefined
  #isStopping = false

  constructor(child: ChildProcess, grace: number, clock: Clock) {
    this.#child = child
    this.#grace = grace
    this.#clock = clock
    child.once('exit', () => {
      if (!this.#isStopping) this.#after(() => this.#closeOutput())
    })
  }

  onAbort(): void {
    this.#isStopping = true
    this.#kill('SIGTERM')
    this.#after(() => {
      this.#kill('SIGKILL')
      this.#after(() => this.#closeOutput())
    })
  }

  done(): void {
    this.#timer?.cancel()
  }

  #after(action: () => void): void {
    this.#timer?.cancel()
    this.#timer = this.#clock.setTimer(this.#grace, action)
  }

  /** A process outside of the group holds it: nothing else can end the wait. */
  #closeOutput(): void {
    this.#child.stdout?.destroy()
    this.#child.stderr?.destroy()
  }

  #kill(signal: NodeJS.Signals): void {
    const { pid } = this.#child
    if (pid === undefined) return
    try {
      process.kill(process.platform === 'win32' ? pid : -pid, signal)
    } catch (error) {
      // It ended between the check and the kill, as intended.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}
