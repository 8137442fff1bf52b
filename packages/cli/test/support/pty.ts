/** A shell script in a terminal of its own, and the resulting screen. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { Writable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { Emulator } from './emulator.ts'

/** Node cannot open a terminal by itself; Python can, and is on every developer machine but Windows. */
export function whyNoTerminal(): string | false {
  if (process.platform === 'win32') return 'Windows has no pseudo-terminals of this kind'
  const found = spawnSync('python3', ['-c', 'import pty'])
  return found.status === 0 ? false : 'python3, which opens the terminal, is not installed'
}

export interface PtyOptions {
  readonly columns?: number
  readonly rows?: number
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

export class Pty implements Disposable {
  readonly emulator: Emulator
  readonly #process: ChildProcess
  readonly #closed: Promise<unknown[]>
  #raw = ''
  #isOver = false
  #wake = Promise.withResolvers<void>()

  constructor(script: string, { columns = 80, rows = 24, cwd, env }: PtyOptions) {
    this.emulator = new Emulator(columns, rows)
    const relay = path.join(import.meta.dirname, 'in-terminal.py')
    this.#process = spawn(
      'python3',
      [relay, String(columns), String(rows), 'bash', '--norc', '-c', script],
      { stdio: ['pipe', 'pipe', 'inherit', 'pipe'], cwd, env },
    )
    const decoder = new StringDecoder('utf8')
    this.#process.stdout!.on('data', (bytes: Buffer) => {
      const text = decoder.write(bytes)
      this.#raw += text
      this.emulator.write(text)
      this.#stir()
    })
    this.#closed = once(this.#process, 'close')
    void this.#closed.then(() => {
      this.#isOver = true
      this.#stir()
    })
  }

  /** Everything that was written, with its escape sequences. */
  get raw(): string {
    return this.#raw
  }

  get screen(): string {
    return this.emulator.screen.join('\n')
  }

  /** The text that can be scrolled to, and the text on the screen. */
  get everything(): string {
    return this.emulator.everything.join('\n')
  }

  /** Everything as one line. A line that stays is wrapped, and where depends on the length of the paths in it. */
  get unwrapped(): string {
    return this.everything.replaceAll(/\s+/g, ' ')
  }

  type(keys: string): void {
    this.#process.stdin!.write(keys)
  }

  resize(columns: number, rows: number): void {
    this.emulator.resize(columns, rows)
    ;(this.#process.stdio[3] as Writable).write(`${columns} ${rows}\n`)
  }

  /** Waits until the screen shows this. */
  async see(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#until(pattern, () => this.screen)
  }

  /** Waits until this has been written, wherever it is now. */
  async wrote(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#until(pattern, () => this.everything)
  }

  /** Waits until something more is written. */
  async changed(): Promise<void> {
    await this.#wake.promise
  }

  async #until(pattern: RegExp, read: () => string): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(read())
      if (found !== null) return found
      // Not as soon as the relay has exited: output may still be in flight.
      if (this.#isOver) {
        throw new Error(
          `The terminal closed without showing ${String(pattern)}:\n${this.everything}`,
        )
      }
      await this.#wake.promise
    }
  }

  /** The exit code of the script. */
  async closed(): Promise<number> {
    const [code] = await this.#closed
    return code as number
  }

  #stir(): void {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }

  [Symbol.dispose](): void {
    this.#process.kill('SIGKILL')
  }
}
