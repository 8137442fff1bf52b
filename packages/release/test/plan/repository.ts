/** Real Git repositories in temporary folders. */
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { runCommand } from '@heddle/core/lowlevel'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import { planFromCommits, type CommitPlanOptions } from '../../src/plan/from-commits.ts'
import type { ReleasePlan } from '../../src/model.ts'
import { addFiles, makeTree, type Content } from '../workspace/tree.ts'

/** The user who runs the tests has settings of their own. */
const env = {
  PATH: process.env['PATH'],
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.com',
  GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
  GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
}

export class Repository {
  readonly folder: string
  #count = 0

  constructor(folder: string) {
    this.folder = folder
  }

  static async create(
    t: TestContext,
    files: Readonly<Record<string, Content>>,
  ): Promise<Repository> {
    const repository = new Repository(await makeTree(t, files))
    await repository.git('init', '-q', '-b', 'main')
    await repository.commit('chore: start', { 'start.txt': '' })
    return repository
  }

  async git(...args: readonly string[]): Promise<string> {
    return (await runCommand('git', args, { cwd: this.folder, env })).stdout.trim()
  }

  /** Changes a file of the package, and commits it. Returns the hash. */
  async change(name: string, message: string): Promise<string> {
    return this.commit(message, {
      [`packages/${name}/change-${++this.#count}.txt`]: String(this.#count),
    })
  }

  async commit(message: string, files: Readonly<Record<string, Content>>): Promise<string> {
    await addFiles(this.folder, files)
    await this.git('add', '--all')
    await this.git('commit', '-q', '-m', message)
    return this.git('rev-parse', 'HEAD')
  }

  async tag(...names: readonly string[]): Promise<void> {
    for (const name of names) await this.git('tag', name)
  }

  async plan(options: CommitPlanOptions = {}): Promise<ReleasePlan> {
    return planFromCommits(await readWorkspace(this.folder), options)
  }

  /** `{ a: '1.1.0' }`: only released packages. */
  async versions(options: CommitPlanOptions = {}): Promise<Record<string, string>> {
    const { packages } = await this.plan(options)
    const included = [...packages].filter(([, { status }]) => status === 'included')
    return Object.fromEntries(included.map(([name, { version }]) => [name, version]))
  }

  async write(file: string, text: string): Promise<void> {
    await mkdir(path.dirname(path.join(this.folder, file)), { recursive: true })
    await writeFile(path.join(this.folder, file), text)
  }
}
