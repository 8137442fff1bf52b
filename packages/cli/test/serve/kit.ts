/** `heddle serve` in a process of its own, and a client. */
import path from 'node:path'
import { Program } from '../support/program.ts'
import type { Stage } from '../support/stage.ts'

export function fixture(name: string): string {
  return path.join(import.meta.dirname, 'fixtures', name)
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly body: Record<string, unknown>
}

export class Served implements Disposable {
  readonly program: Program
  readonly url: string

  constructor(program: Program, url: string) {
    this.program = program
    this.url = url
  }

  /** Resolves when it listens. */
  static async start(stage: Stage, ...args: readonly string[]): Promise<Served> {
    const program = serve(stage, ...args)
    const [, url] = await program.printed(/"type":"listening","url":"([^"]+)"/)
    return new Served(program, url!)
  }

  async get(address: string): Promise<Reply> {
    return read(await fetch(this.url + address))
  }

  async post(address: string, input: unknown): Promise<Reply> {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify(input)
    return read(await fetch(this.url + address, { method: 'POST', headers, body }))
  }

  kill(signal: NodeJS.Signals): void {
    this.program.process.kill(signal)
  }

  [Symbol.dispose](): void {
    this.program[Symbol.dispose]()
  }
}

export function serve(stage: Stage, ...args: readonly string[]): Program {
  const words = ['serve', '--jobs', fixture('served.ts'), '--port', '0', '--json', ...args]
  return new Program(words, { cwd: stage.folder, env: stage.env })
}

async function read(response: Response): Promise<Reply> {
  const { status, headers } = response
  return { status, headers, body: (await response.json()) as Reply['body'] }
}
