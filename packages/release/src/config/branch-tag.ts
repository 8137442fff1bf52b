import picomatch from 'picomatch'
import type { WaitOptions } from '@heddle/core/lowlevel'
import type { Repository } from '../git/repository.ts'
import { branchOf } from '../preflight/preflight.ts'
import type { ReleaseConfig } from './release-config.ts'

/**
 * The dist-tag that the config gives to the branch which is released; undefined when it gives none.
 *
 * *Cancellation*: leaves nothing behind.
 */
export async function branchTag(
  { distTags = {} }: ReleaseConfig,
  repository: Repository | undefined,
  env: Readonly<Record<string, string | undefined>> = process.env,
  wait: WaitOptions = {},
): Promise<string | undefined> {
  const patterns = Object.entries(distTags)
  if (patterns.length === 0 || repository === undefined) return undefined
  const branch = await branchOf(repository, env, wait)
  if (branch === undefined) return undefined
  return patterns.find(([pattern]) => picomatch(pattern)(branch))?.[1]
}
