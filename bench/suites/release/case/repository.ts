/** A workspace of five packages in a repository of its own, and its visible state afterwards. */
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { version, workspace } from '../conditions.ts'
import { peerPrograms } from '../tools/peer-program.ts'

const run = promisify(execFile)

export interface RepositoryOptions {
  /** Empty, and used by this case only. */
  readonly folder: string
  /** Packages are `@scope/a` and so on. */
  readonly scope: string
  readonly registry: string
  /** What each package needs, by letter. The five of the fault cases when absent. */
  readonly packages?: Readonly<Record<string, readonly string[]>>
  /** Whether packing gives other bytes each time, as builds do. */
  readonly isUnreproducible?: boolean
  /** More files, by path. */
  readonly files: Readonly<Record<string, string>>
}

export class Repository {
  readonly root: string
  /** For every program that works in it: nothing of the user's settings. */
  readonly env: NodeJS.ProcessEnv
  readonly #options: RepositoryOptions

  constructor(options: RepositoryOptions) {
    this.#options = options
    this.root = path.join(options.folder, 'repository')
    const node = path.dirname(process.execPath)
    this.env = {
      PATH: [peerPrograms, node, process.env['PATH']].join(path.delimiter),
      HOME: path.join(options.folder, 'home'),
      TMPDIR: os.tmpdir(),
      LC_ALL: 'C.UTF-8',
      CI: 'true',
      NO_COLOR: '1',
      NX_DAEMON: 'false',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: 'Somebody',
      GIT_AUTHOR_EMAIL: 'somebody@example.com',
      GIT_COMMITTER_NAME: 'Somebody',
      GIT_COMMITTER_EMAIL: 'somebody@example.com',
    }
  }

  nameOf(letter: string): string {
    return `@${this.#options.scope}/${letter}`
  }

  async write(): Promise<void> {
    await mkdir(this.env['HOME']!, { recursive: true })
    for (const [file, content] of Object.entries(this.#contents())) {
      const full = path.join(this.root, file)
      await mkdir(path.dirname(full), { recursive: true })
      await writeFile(full, content)
    }
    await this.#git('init', '--quiet', '--initial-branch=main')
  }

  async commit(message = 'first'): Promise<void> {
    await this.#git('add', '--all')
    await this.#git('commit', '--quiet', '--message', message)
  }

  /** Lines of `git status`: none when the tree is as it was committed. */
  async changes(): Promise<string[]> {
    return lines(await this.#git('status', '--porcelain'))
  }

  /** An edit that is not committed. */
  async edit(): Promise<void> {
    await writeFile(path.join(this.root, 'packages/b/index.js'), "module.exports = 'edited'\n")
  }

  async restore(): Promise<void> {
    await this.#git('checkout', '--', '.')
  }

  /** Gives b another version, and commits it. */
  async bump(to: string): Promise<void> {
    const file = path.join(this.root, 'packages/b/package.json')
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replace(`"version": "${version}"`, `"version": "${to}"`))
    await this.commit('bump b')
  }

  /** A clone beside it, with the same settings. */
  async clone(): Promise<Repository> {
    const folder = path.join(this.#options.folder, 'clone')
    const clone = new Repository({ ...this.#options, folder })
    await mkdir(clone.env['HOME']!, { recursive: true })
    await this.#git('clone', '--quiet', this.root, clone.root)
    return clone
  }

  async tags(): Promise<string[]> {
    return lines(await this.#git('tag', '--list'))
  }

  async #git(...args: string[]): Promise<string> {
    const { stdout } = await run('git', args, { cwd: this.root, env: this.env })
    return stdout
  }

  #contents(): Record<string, string> {
    const { registry, files } = this.#options
    const host = registry.replace(/^http:/, '')
    const contents: Record<string, string> = {
      'package.json': json({ name: 'root', private: true, version: '0.0.0' }),
      'pnpm-workspace.yaml': 'packages:\n  - packages/*\n',
      '.npmrc': `registry=${registry}/\n${host}/:_authToken=anybody\n`,
      '.gitignore': 'node_modules/\nout.txt\n',
      ...files,
    }
    for (const [letter, dependencies] of Object.entries(this.#options.packages ?? workspace)) {
      contents[`packages/${letter}/package.json`] = json({
        name: this.nameOf(letter),
        version,
        license: 'MIT',
        main: 'index.js',
        files: ['index.js', 'out.txt'],
        ...(this.#options.isUnreproducible === true && {
          scripts: { prepack: 'node -p "process.hrtime.bigint()" > out.txt' },
        }),
        dependencies: Object.fromEntries(
          dependencies.map((each) => [this.nameOf(each), 'workspace:^']),
        ),
        publishConfig: { access: 'public' },
      })
      contents[`packages/${letter}/index.js`] = `module.exports = '${letter}'\n`
    }
    return contents
  }
}

function json(content: object): string {
  return `${JSON.stringify(content, undefined, 2)}\n`
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}
