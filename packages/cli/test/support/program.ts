/** The command line in a process of its own. */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const launcher: string = fileURLToPath(new URL('../../bin/heddle.js', import.meta.url))

export function fixture(name: string): string {
  return path.join(import.meta.dirname, '../run/fixtures', name)
}

/** The environment without what decides how the output looks. */
export function cleanEnv(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const env: Record<string, string> = {}
  const deciding =
    /^(CI|NO_COLOR|FORCE_COLOR|TERM|LANG|LC_.*|NODE_OPTIONS|NODE_TEST_CONTEXT|npm_.*)$/
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && !deciding.test(name)) env[name] = value
  }
  return { ...env, TERM: 'xterm-256color', LANG: 'C.UTF-8', ...more }
}

/** A gap of the event loop, as `run` and `serve` report it, for people and as JSON. */
const gapLine = / loop +stood still for |"type":"gap"|The event loop was blocked for /

export interface ProgramOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly stdio?: SpawnOptions['stdio']
  /** What the program reads from standard input. */
  readonly stdin?: string
}

export class Program implements Disposable {
  readonly process: ChildProcess
  stdout = ''
  stderr = ''
  #wake = Promise.withResolvers<void>()
  readonly #closed: Promise<unknown[]>
  #isOver = false

  constructor(
    args: readonly string[],
    { cwd, env = {}, stdio = 'pipe', stdin = '' }: ProgramOptions,
  ) {
    this.process = spawn(process.execPath, ['--conditions=heddle-source', launcher, ...args], {
      cwd,
      env: cleanEnv(env),
      stdio,
    })
    this.process.stdin?.end(stdin)
    this.process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
      this.#stir()
    })
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
      this.#stir()
    })
    this.#closed = once(this.process, 'close')
    void this.#closed.then(() => {
      this.#isOver = true
      this.#stir()
    })
  }

  /** Without lines that the loop watch adds on a busy machine. */
  get lines(): string[] {
    return this.stdout
      .trimEnd()
      .split('\n')
      .filter((line) => !gapLine.test(line))
  }

  get objects(): Record<string, unknown>[] {
    return this.lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  /** Waits until standard output has this. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.stdout)
      if (found !== null) return found
      // Not as soon as it has exited: its output may still be in flight.
      if (this.#isOver) {
        throw new Error(
          `It ended without printing ${String(pattern)}:\n${this.stdout}\n${this.stderr}`,
        )
      }
      await this.#wake.promise
    }
  }

  /** The exit code, or the signal that ended it. */
  async ended(): Promise<number | string> {
    const [code, signal] = (await this.#closed) as [number | null, string | null]
    return code ?? signal!
  }

  #stir(): void {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }

  [Symbol.dispose](): void {
    this.process.kill('SIGKILL')
  }
}

/** Runs a command to its end. */
export async function runProgram(
  args: readonly string[],
  options: ProgramOptions,
): Promise<Program & { readonly code: number | string }> {
  const program = new Program(args, options)
  const code = await program.ended()
  return Object.assign(program, { code })
}
