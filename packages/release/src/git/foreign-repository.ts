import { realpath } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError, isError } from '@heddle/core'
import type { WaitOptions } from '@heddle/core/lowlevel'
import { isThere } from '../workspace/is-there.ts'
import { runGit } from './run-git.ts'

/** Variables that make Git read another repository than that of the folder it runs in. */
const variables = ['GIT_DIR', 'GIT_WORK_TREE'] as const

/**
 * Refuses an environment that makes Git read another repository than the one that a folder is in: all files would
 * differ from its commit, and tags, lock and journal would go there. Git itself sets these variables for hooks, where
 * they name the same repository. A folder that is in no repository may have one by them.
 *
 * *Cancellation*: ends Git; nothing is left behind.
 * @throws `HDL_PREFLIGHT` naming the variables and both repositories.
 */
export async function refuseForeignRepository(root: string, wait: WaitOptions): Promise<void> {
  const set = variables.filter((name) => (process.env[name] ?? '') !== '')
  if (set.length === 0) return
  const top = await folderWithGit(root)
  if (top === undefined) return
  // Git writes paths with `/` on all systems.
  const ask = async (...args: string[]): Promise<string> =>
    path.resolve((await runGit(root, args, wait)).trimEnd())
  try {
    const own = await ask(`--git-dir=${path.join(top, '.git')}`, 'rev-parse', '--absolute-git-dir')
    const read = await ask('rev-parse', '--absolute-git-dir')
    const workTree = await ask('rev-parse', '--show-toplevel')
    const ownTree = await realpath(top)
    if (read === own && workTree === ownTree) return
    const names = set.join(' and ')
    const problem = `${names} ${set.length > 1 ? 'are' : 'is'} set, so Git reads the repository ${read} with the work tree ${workTree} instead of ${own} with ${ownTree}`
    const problems = [{ check: 'work tree', problem, todo: `Unset ${names}.` }]
    throw new HeddleError('HDL_PREFLIGHT', { problems })
  } catch (error) {
    // A repository that Git cannot read is reported when its commit is needed.
    if (!isError(error, 'HDL_COMMAND_FAILED')) throw error
  }
}

/** The nearest folder, this one or one above it, that has a `.git`. */
export async function folderWithGit(folder: string): Promise<string | undefined> {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    if (await isThere(path.join(at, '.git'))) return at
    if (path.dirname(at) === at) return undefined
  }
}
