import type { WaitOptions } from '@heddle/core/lowlevel'
import type { Repository } from '../git/repository.ts'

/** Files that differ from the commit, new ones too. Undefined for a clean tree and without Git. */
export async function dirtyTree(
  repository: Repository | undefined,
  wait: WaitOptions = {},
  untracked = true,
): Promise<string[] | undefined> {
  const changes = (await repository?.changes({ untracked, ...wait })) ?? []
  return changes.length === 0 ? undefined : changes
}
