import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** Node cannot open a terminal by itself; Python can, and is on every developer machine but Windows. */
export function whyNoTerminal(): string | false {
  if (process.platform === 'win32') return 'Windows has no pseudo-terminals of this kind'
  const found = spawnSync('python3', ['-c', 'import pty'])
  return found.status === 0 ? false : 'python3, which opens the terminal, is not installed'
}

const relay = `
import os, pty, sys
status = pty.spawn(sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(status) & 255)
`

/** A shell script that runs in a terminal of its own. */
export class Terminal {
  readonly #process: ChildProcess
  readonly #closed: Promise<unknown[]>
  #output = ''
  #read = 0
  #isOver = false
  #wake = (): void => {}

  constructor(script: string) {
    this.#process = spawn('python3', ['-c', relay, 'bash', '--norc', '-c', script], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#process.stdout!.on('data', (text) => {
      this.#output += String(text)
      this.#wake()
    })
    this.#closed = once(this.#process, 'close')
    void this.#closed.then(() => {
      this.#isOver = true
      this.#wake()
    })
  }

  get output(): string {
    return this.#output.replaceAll('\r', '')
  }

  type(keys: string): void {
    this.#process.stdin!.write(keys)
  }

  /** Waits until this has been printed after the last awaited text. */
  async see(text: string): Promise<void> {
    for (;;) {
      const at = this.output.indexOf(text, this.#read)
      if (at >= 0) {
        this.#read = at + text.length
        return
      }
      // Not as soon as the relay has exited: output may still be in flight.
      if (this.#isOver) {
        throw new Error(
          `The terminal closed without printing ${JSON.stringify(text)}:\n${this.output}`,
        )
      }
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  /** The exit code of the script. */
  async closed(): Promise<number> {
    const [code] = await this.#closed
    return code as number
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }
}
