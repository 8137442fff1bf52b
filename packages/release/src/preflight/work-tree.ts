import { isError } from '@heddle/core'
import type { WaitOptions } from '@heddle/core/lowlevel'
import { folderWithGit } from '../git/foreign-repository.ts'
import type { Repository } from '../git/repository.ts'
import { runGit } from '../git/run-git.ts'

/** Never packed, and where build services put their token. */
export function isSettings(file: string): boolean {
  return file === '.npmrc'
}

/**
 * Files that differ from the commit, new ones too, except those that `isExpected` accepts. Undefined for a clean tree
 * and without Git.
 */
export async function dirtyTree(
  repository: Repository | undefined,
  isExpected: (full: string) => boolean,
  wait: WaitOptions = {},
): Promise<string[] | undefined> {
  const all = (await repository?.changedFiles(wait)) ?? []
  const changes = all.filter(({ file, path: full }) => !isSettings(file) && !isExpected(full))
  if (changes.length === 0) return undefined
  return changes.map(({ letters, file }) => `${letters} ${file}`)
}

/**
 * Why nothing could be read from the repository that a folder is in: no commit yet, or what Git says (an owner
 * that it does not trust, as in containers). Undefined outside of a repository.
 */
export async function whyUnreadable(
  root: string,
  wait: WaitOptions = {},
): Promise<string | undefined> {
  if ((await folderWithGit(root)) === undefined) return undefined
  try {
    await runGit(root, ['rev-parse', '--git-dir'], wait)
    return 'it has no commit'
  } catch (error) {
    if (!isError(error, 'HDL_COMMAND_FAILED')) throw error
    return `Git cannot read it: ${error.message}`
  }
}
