/** What the tests of a newcomer's first steps share: empty folders, and a registry on this machine that has our packages. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { packArchives, publicRegistry, startPackedRegistry } from '../packed.ts'
import { root, runNode, type ToolResult } from '../tool.ts'

async function isOnline(): Promise<boolean> {
  try {
    // A packument that every install asks for anyway.
    return (await fetch(`${publicRegistry}/lru-cache/latest`)).ok
  } catch {
    return false
  }
}

/** False, or why these tests cannot run here. */
export const skip: string | false = (await isOnline())
  ? false
  : `${publicRegistry} cannot be reached`

/** Milliseconds. An install is slow beside eight busy processes on two cores; a hang still ends. */
export const timeout = 590_000

/** The program of the README, as a module without top-level await, which CommonJS bundles do not have. */
export const program = `import { Graph, job, run } from '@heddle/core'

const parse = job({ name: 'parse', place: 'thread', module: import.meta.url }, (csv: string) =>
  csv.split(';').map(Number),
)
const sum = job({ name: 'sum' }, (rows: number[]) => rows.reduce((a, b) => a + b, 0))

const g = new Graph()
const a = g.add('a', parse, { input: '1;2;39' })
const b = g.add('b', sum, { after: [a], input: (of) => of(a) })
void run(g, { concurrency: 8, journal: 'sqlite:runs.db' }).then((result) => console.log(result.of(b), result.succeeded))
`

/** The same without types. */
export const programInJavaScript: string = program.replace(': string', '').replace(': number[]', '')

export const printed = "42 [ 'a', 'b' ]"

export const manifest: string = JSON.stringify({ name: 'mine', private: true, type: 'module' })

export function expectOk(what: string, { ok, output }: ToolResult): string {
  assert.ok(ok, `${what} failed:\n${output}`)
  return output
}

export function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text)
}

/** A folder of folders, and the environment in which package managers use the registry. */
export class Newcomer implements AsyncDisposable {
  readonly home: string = mkdtempSync(path.join(os.tmpdir(), 'heddle-newcomer-'))
  #registry: Awaited<ReturnType<typeof startPackedRegistry>> | undefined
  env: NodeJS.ProcessEnv = {}

  get registry(): string {
    assert.ok(this.#registry, 'the registry has been started')
    return this.#registry.url
  }

  /** Builds and packs the packages, unless that was done for the same files before, and publishes them. */
  async start(): Promise<void> {
    this.#registry = await startPackedRegistry(await packArchives())
    const { NODE_OPTIONS: _, ...rest } = process.env
    this.env = {
      ...rest,
      // Programs that are started by their name run on the Node of the tests.
      PATH: [path.dirname(process.execPath), rest['PATH']].join(path.delimiter),
      npm_config_registry: this.registry,
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
      npm_config_prefer_offline: 'true',
      // Other releases of ours with the same version are in the user's cache, and not the same.
      npm_config_cache: path.join(root, 'node_modules/.cache/npm-of-tests'),
      CI: '1',
    }
  }

  emptyFolder(name: string): string {
    const folder = path.join(this.home, name)
    mkdirSync(folder)
    return folder
  }

  /** Runs a program of Node there. @throws its output when it fails. */
  async node(what: string, cwd: string, args: readonly string[], node?: string): Promise<string> {
    const options = { cwd, env: this.env, ...(node !== undefined && { node }) }
    return expectOk(what, await runNode(args, options))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#registry?.close()
    rmSync(this.home, { recursive: true, force: true })
  }
}
