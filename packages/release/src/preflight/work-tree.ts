import { access } from 'node:fs/promises'
import path from 'node:path'
import { isError } from '@heddle/core'
import type { WaitOptions } from '@heddle/core/lowlevel'
import { runGit, type Repository } from '../git/repository.ts'

/** Never packed, and where build services put their token. */
export function isSettings(file: string): boolean {
  return file === '.npmrc'
}

/** Files that differ from the commit, new ones too. Undefined for a clean tree and without Git. */
export async function dirtyTree(
  repository: Repository | undefined,
  wait: WaitOptions = {},
): Promise<string[] | undefined> {
  const all = (await repository?.changes({ untracked: true, ...wait })) ?? []
  const changes = all.filter((line) => !isSettings(line.slice(3)))
  return changes.length === 0 ? undefined : changes
}

/**
 * Why nothing could be read from the repository that a folder is in: no commit yet, or what Git says (an owner
 * that it does not trust, as in containers). Undefined outside of a repository.
 */
export async function whyUnreadable(
  root: string,
  wait: WaitOptions = {},
): Promise<string | undefined> {
  if (!(await isInRepository(root))) return undefined
  try {
    await runGit(root, ['rev-parse', '--git-dir'], wait)
    return 'it has no commit'
  } catch (error) {
    if (!isError(error, 'HDL_COMMAND_FAILED')) throw error
    return `Git cannot read it: ${error.message}`
  }
}

async function isInRepository(folder: string): Promise<boolean> {
  for (let at = folder; ; at = path.dirname(at)) {
    const isThere = await access(path.join(at, '.git')).then(
      () => true,
      () => false,
    )
    if (isThere) return true
    if (path.dirname(at) === at) return false
  }
}
