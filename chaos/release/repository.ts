/** A repository with changesets, builds and a remote, which is released again and again. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

export class ReleasedRepository {
  readonly root: string
  readonly names: readonly string[]
  readonly #remote: string

  /** Package n depends on those that half of its number leads to. */
  constructor(folder: string, packages: number) {
    this.root = path.join(folder, 'repository')
    this.#remote = path.join(folder, 'remote.git')
    this.names = Array.from({ length: packages }, (_, index) => `chaos-${index}`)
    mkdirSync(this.root, { recursive: true })
    execFileSync('git', ['init', '--quiet', '--bare', this.#remote])
    this.git('init', '--quiet', '--initial-branch=main')
    this.git('config', 'user.name', 'Somebody')
    this.git('config', 'user.email', 'somebody@example.com')
    this.git('remote', 'add', 'origin', this.#remote)
    this.#write('package.json', { name: 'root', private: true, workspaces: ['packages/*'] })
    this.#write('.changeset/config.json', {})
    this.#write('.gitignore', 'out.txt\n')
    for (const [index, name] of this.names.entries()) {
      const needs = index === 0 ? {} : { [this.names[Math.floor(index / 2)]!]: '^1.0.0' }
      this.#write(`packages/${name}/package.json`, {
        name,
        version: '1.0.0',
        files: ['out.txt'],
        scripts: {
          // Another output each time, as builds give it.
          build: 'node -p "process.hrtime.bigint()" > out.txt',
          prepack: 'echo packed > extra.txt',
          postpack: 'rm -f extra.txt',
        },
        dependencies: index === 0 ? {} : needs,
      })
    }
    this.#commit('first')
  }

  /** Changesets for some packages; returns how many versions there will be, at least. */
  change(round: number, names: readonly string[]): void {
    for (const name of names) {
      this.#write(`packages/${name}/source.txt`, `${round}\n`)
      this.#write(
        `.changeset/r${round}-${name}.md`,
        `---\n"${name}": minor\n---\n\nRound ${round}\n`,
      )
    }
    this.#commit(`round ${round}`)
  }

  /** `name@version` of all manifests. */
  versions(): string[] {
    return this.names.map((name) => {
      const text = readFileSync(path.join(this.root, 'packages', name, 'package.json'), 'utf8')
      return `${name}@${(JSON.parse(text) as { version: string }).version}`
    })
  }

  tags(): Map<string, string> {
    return new Map(
      this.git(
        'for-each-ref',
        '--format=%(refname:strip=2) %(objectname) %(*objectname)',
        'refs/tags',
      )
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => {
          const [name = '', object = '', target = ''] = line.split(' ')
          return [name, target === '' ? object : target]
        }),
    )
  }

  remoteTags(): Set<string> {
    const lines = this.git('ls-remote', '--tags', 'origin').split('\n')
    return new Set(lines.flatMap((line) => /refs\/tags\/([^^]+)$/.exec(line)?.[1] ?? []))
  }

  git(...args: string[]): string {
    return execFileSync('git', args, {
      cwd: this.root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  #write(file: string, content: string | object): void {
    const full = path.join(this.root, file)
    mkdirSync(path.dirname(full), { recursive: true })
    const text = typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`
    writeFileSync(full, text)
  }

  #commit(message: string): void {
    this.git('add', '--all')
    this.git('commit', '--quiet', '--message', message)
  }
}
