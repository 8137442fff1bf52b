/** A workspace in a repository of its own, committed: what people release from. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

export interface MonorepoOptions {
  /** `{ b: ['a'] }`: b depends on a. */
  readonly packages: Readonly<Record<string, readonly string[]>>
  readonly version?: string
  /** More fields for the manifest of a package. */
  readonly fields?: Readonly<Record<string, object>>
}

export class Monorepo implements Disposable {
  readonly root: string = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'heddle-monorepo-')))

  constructor({ packages, version = '1.0.0', fields = {} }: MonorepoOptions) {
    this.write('package.json', { name: 'root', private: true, workspaces: ['packages/*'] })
    for (const [name, dependencies] of Object.entries(packages)) {
      this.write(`packages/${name}/package.json`, {
        name,
        version,
        main: 'index.js',
        dependencies: Object.fromEntries(dependencies.map((each) => [each, 'workspace:^'])),
        ...fields[name],
      })
      this.write(`packages/${name}/index.js`, `module.exports = '${name} ${version}'\n`)
    }
    this.git('init', '--quiet', '--initial-branch=main')
    this.commit('first')
  }

  write(file: string, content: string | object): void {
    const full = path.join(this.root, file)
    mkdirSync(path.dirname(full), { recursive: true })
    const text = typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`
    writeFileSync(full, text)
  }

  commit(message: string): void {
    this.git('add', '--all')
    this.git('commit', '--quiet', '--message', message)
  }

  git(...args: string[]): string {
    const identity = ['-c', 'user.name=Somebody', '-c', 'user.email=somebody@example.com']
    return execFileSync('git', [...identity, ...args], { cwd: this.root, encoding: 'utf8' })
  }

  get status(): string {
    return this.git('status', '--porcelain')
  }

  get tags(): string[] {
    return this.git('tag', '--list').split('\n').filter(Boolean)
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}
