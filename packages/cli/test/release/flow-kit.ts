/** A repository that is released by the commands that users type, and the registry read back. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { runProgram } from '../support/program.ts'

export interface Released {
  readonly code: number | string | null
  readonly result: Record<string, unknown> & {
    readonly packages: readonly { name: string; version: string; outcome: string }[]
  }
  readonly stdout: string
  readonly stderr: string
}

export class FlowRepository implements Disposable {
  readonly root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'heddle-flow-')))
  readonly #registry: string

  constructor(registry: string) {
    this.#registry = registry
    this.git('init', '--quiet', '--initial-branch=main')
    this.git('config', 'user.name', 'Somebody')
    this.git('config', 'user.email', 'somebody@example.com')
  }

  write(file: string, content: string | object): void {
    const full = path.join(this.root, file)
    mkdirSync(path.dirname(full), { recursive: true })
    const text = typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`
    writeFileSync(full, text)
  }

  read(file: string): string {
    return readFileSync(path.join(this.root, file), 'utf8')
  }

  commit(message: string): void {
    this.git('add', '--all')
    this.git('commit', '--quiet', '--message', message)
  }

  git(...args: string[]): string {
    return execFileSync('git', args, { cwd: this.root, encoding: 'utf8' })
  }

  get status(): string {
    return this.git('status', '--porcelain')
  }

  /** `heddle release …` with `--json`; publishing goes to the registry of this flow, without smoke test. */
  async release(command: string, ...more: readonly string[]): Promise<Released> {
    const where = command === 'version' ? [] : ['--registry', this.#registry]
    return this.#run(command, where, more)
  }

  /** The same, to the registries that the workspace itself names. */
  async releaseAsConfigured(command: string, ...more: readonly string[]): Promise<Released> {
    return this.#run(command, [], more)
  }

  /** Whether publishing installs the published packages. */
  hasSmoke = false

  /** For programs that are started after this. */
  readonly env: Record<string, string> = {}

  async #run(
    command: string,
    where: readonly string[],
    more: readonly string[],
  ): Promise<Released> {
    const quick = command === 'publish' && !this.hasSmoke ? ['--no-smoke'] : []
    const args = ['release', command, ...where, ...quick, '--json', ...more]
    const { code, stdout, stderr } = await runProgram(args, { cwd: this.root, env: this.env })
    const last = stdout.trimEnd().split('\n').at(-1) ?? ''
    return { code, result: JSON.parse(last) as Released['result'], stdout, stderr }
  }

  /** What the registry holds of a package: its versions, its dist-tags, the dependencies of each. */
  async onRegistry(name: string): Promise<{
    readonly versions: readonly string[]
    readonly tags: Readonly<Record<string, string>>
    readonly dependencies: Readonly<Record<string, object | undefined>>
  }> {
    const answer = await fetch(`${this.#registry}/${name.replace('/', '%2f')}`)
    const { versions = {}, 'dist-tags': tags = {} } = (await answer.json()) as {
      versions?: Record<string, { dependencies?: object }>
      'dist-tags'?: Record<string, string>
    }
    const dependencies = Object.fromEntries(
      Object.entries(versions).map(([version, each]) => [version, each.dependencies]),
    )
    return { versions: Object.keys(versions), tags, dependencies }
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}

export const outcomesOf = ({ result }: Released): Record<string, string> =>
  Object.fromEntries(result.packages.map(({ name, outcome }) => [name, outcome]))
