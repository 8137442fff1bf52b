import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import fsp from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** A folder of its own for one test. */
export class Folder implements Disposable {
  readonly path = fs.mkdtempSync(path.join(os.tmpdir(), 'heddle-files-'))

  at(...names: string[]): string {
    return path.join(this.path, ...names)
  }

  write(name: string, content: string | Buffer): string {
    const file = this.at(name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, content)
    return file
  }

  read(name: string): string {
    return fs.readFileSync(this.at(name), 'utf8')
  }

  /** All files below it, by name. */
  names(): string[] {
    return fs
      .readdirSync(this.path, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => path.relative(this.path, path.join(entry.parentPath, entry.name)))
      .sort()
  }

  [Symbol.dispose](): void {
    fs.rmSync(this.path, { recursive: true, force: true })
  }
}

/** A program of `fixtures/` that talks over its channel. */
export class Program implements AsyncDisposable {
  readonly process: ChildProcess
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  stderr = ''
  readonly #messages: unknown[] = []
  #isOver = false
  #wake = (): void => {}

  constructor(fixture: string, ...args: string[]) {
    const file = fileURLToPath(new URL(`./fixtures/${fixture}`, import.meta.url))
    this.process = spawn(process.execPath, [file, ...args], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.process.stderr!.on('data', (text) => (this.stderr += String(text)))
    this.process.on('message', (message) => {
      this.#messages.push(message)
      this.#wake()
    })
    this.ended = once(this.process, 'close').then(([code, signal]) => {
      this.#isOver = true
      this.#wake()
      return { code: code as number | null, signal: signal as NodeJS.Signals | null }
    })
  }

  async next(): Promise<unknown> {
    while (this.#messages.length === 0) {
      if (this.#isOver) throw new Error(`The program ended without an answer:\n${this.stderr}`)
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    return this.#messages.shift()
  }

  ask(question: unknown): Promise<unknown> {
    this.process.send(question as string)
    return this.next()
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL') {
    this.process.kill(signal)
    return this.ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }
}

const operations = [
  'copyFile',
  'mkdir',
  'open',
  'readFile',
  'rename',
  'rm',
  'readdir',
  'stat',
] as const
const handleOperations = ['chmod', 'chown', 'close', 'stat', 'sync', 'writeFile'] as const

/**
 * Calls `before` ahead of every operation on files, with its number from 1: how a test kills a
 * program, or lets an operation fail, at each point in turn. Undo it with the result.
 */
export async function interceptFiles(before: (count: number) => void): Promise<() => void> {
  const probe = await fsp.open(os.tmpdir(), 'r')
  const prototype = Object.getPrototypeOf(probe) as object
  await probe.close()
  let count = 0
  const undo: (() => void)[] = []
  const wrap = (owner: object, name: string): void => {
    const methods = owner as Record<string, (...args: unknown[]) => Promise<unknown>>
    const original = methods[name]!
    methods[name] = async function (this: unknown, ...args: unknown[]) {
      before(++count)
      return original.apply(this, args)
    }
    undo.push(() => (methods[name] = original))
  }
  for (const name of operations) wrap(fsp, name)
  for (const name of handleOperations) wrap(prototype, name)
  syncBuiltinESMExports()
  return () => {
    for (const step of undo) step()
    syncBuiltinESMExports()
  }
}
