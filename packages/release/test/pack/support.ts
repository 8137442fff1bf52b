import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { list } from 'tar'
import { Tree } from '../plan-kit.ts'

const run = promisify(execFile)

export async function git(folder: string, ...args: string[]): Promise<string> {
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.com']
  const { stdout } = await run('git', [...identity, ...args], { cwd: folder })
  return stdout
}

/** Puts all of a tree under version control, so that a change of it can be seen. */
export async function commitAll(tree: Tree): Promise<void> {
  await git(tree.path, 'init', '-q')
  await git(tree.path, 'add', '-A', '-f')
  await git(tree.path, 'commit', '-qm', 'all')
}

export interface ListedEntry {
  readonly path: string
  readonly mode: number
  readonly mtime: string
}

export async function entriesOf(file: string): Promise<ListedEntry[]> {
  const entries: ListedEntry[] = []
  await list({
    file,
    onReadEntry: ({ path: name, mode = 0, mtime }) => {
      entries.push({ path: name, mode, mtime: mtime?.toISOString() ?? '' })
    },
  })
  return entries
}

/** The files that `npm pack` puts into the archive. */
export async function npmPackList(folder: string, workspace?: string): Promise<string[]> {
  const which = workspace === undefined ? [] : ['-w', workspace]
  using home = new Tree()
  const { stdout } = await run(
    'npm',
    ['pack', '--dry-run', '--json', '--ignore-scripts', ...which],
    // Without the settings of the user who runs the tests.
    { cwd: folder, env: { PATH: process.env['PATH'], HOME: home.path } },
  )
  const answer = JSON.parse(stdout) as unknown
  const [packed] = (Array.isArray(answer) ? answer : Object.values(answer as object)) as {
    files: { path: string }[]
  }[]
  return packed!.files.map((file) => file.path).sort()
}
