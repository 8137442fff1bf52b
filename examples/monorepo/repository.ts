/** A Git repository with four packages and a changeset that waits to be released. */
import { execFileSync } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'

/** What each package needs of the others. */
const needs = { money: [], cart: ['money'], mail: [], shop: ['cart', 'mail'] } as const

export const packages: readonly string[] = Object.keys(needs)

const changeset = `---
'@acme/money': minor
---

Amounts can be negative.
`

/** Replaces the folder. All packages have version 1.0.0. */
export async function makeRepository(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  const write = async (file: string, content: string | object): Promise<void> => {
    const full = path.join(folder, file)
    await mkdir(path.dirname(full), { recursive: true })
    await writeFile(full, typeof content === 'string' ? content : JSON.stringify(content, null, 2))
  }
  await write('package.json', { private: true, workspaces: ['packages/*'] })
  for (const [name, others] of Object.entries(needs)) {
    await write(`packages/${name}/package.json`, {
      name: `@acme/${name}`,
      version: '1.0.0',
      type: 'module',
      exports: './index.js',
      dependencies: Object.fromEntries(others.map((other) => [`@acme/${other}`, '^1.0.0'])),
    })
    await write(`packages/${name}/index.js`, `export const name = '${name}'\n`)
  }
  await write('.changeset/config.json', { access: 'public' })
  await write('.changeset/negative.md', changeset)
  await write('.gitignore', '.heddle\nnode_modules\n')
  git(folder, 'init', '--quiet', '--initial-branch=main')
  git(folder, 'config', 'user.name', 'Ada')
  git(folder, 'config', 'user.email', 'ada@example.com')
  git(folder, 'add', '--all')
  git(folder, 'commit', '--quiet', '--message', 'first')
}

export function git(folder: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8' })
}
