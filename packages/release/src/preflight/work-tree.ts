import type { WaitOptions } from '@heddle/core/lowlevel'
import type { Repository } from '../git/repository.ts'

/** Never packed, and where build services put their token. */
const settings = /^.. \.npmrc$/

/** Files that differ from the commit, new ones too. Undefined for a clean tree and without Git. */
export async function dirtyTree(
  repository: Repository | undefined,
  wait: WaitOptions = {},
  untracked = true,
): Promise<string[] | undefined> {
  const all = (await repository?.changes({ untracked, ...wait })) ?? []
  const changes = all.filter((line) => !settings.test(line))
  return changes.length === 0 ? undefined : changes
}
