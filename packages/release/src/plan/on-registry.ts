import type { WaitOptions } from '@heddle/core/lowlevel'
import type { ReleasePlan } from '../model.ts'
import type { RegistryOf } from '../stages/options.ts'
import { mapLimited, questionsAtOnce } from '../workspace/limited.ts'

/**
 * Which planned versions are on their registries. A registry that does not answer leaves its packages
 * out: a plan is shown also without a network.
 *
 * *Cancellation*: leaves nothing behind.
 * *Fairness*: registries are asked in the order of names, a few questions at a time.
 */
export async function publishedVersions(
  { packages }: ReleasePlan,
  registryOf: RegistryOf,
  wait: WaitOptions,
): Promise<{
  readonly published: ReadonlyMap<string, boolean>
  readonly silent: readonly string[]
}> {
  const published = new Map<string, boolean>()
  const silent = new Set<string>()
  const included = [...packages.values()].filter(({ status }) => status === 'included')
  await mapLimited(included, questionsAtOnce, async (planned) => {
    const registry = registryOf(planned)
    if (silent.has(registry.url)) return
    try {
      const found = await registry.read(planned.package.name, planned.version, wait)
      published.set(planned.package.name, found !== undefined)
    } catch {
      silent.add(registry.url)
    }
  })
  return { published, silent: [...silent] }
}
