import type { WaitOptions } from '@heddle/core/lowlevel'
import type { PlannedPackage, ReleasePlan, WorkspacePackage } from '../model.ts'
import type { Registry } from '../registry/registry.ts'
import { mapLimited, questionsAtOnce } from '../workspace/limited.ts'

/**
 * Asks registries for versions. One that does not answer is not asked again: a plan is shown also without a
 * network.
 */
export class RegistryQuestions {
  readonly #registryOf: (planned: Pick<PlannedPackage, 'package'>) => Registry
  readonly #silent = new Set<string>()

  constructor(registryOf: (planned: Pick<PlannedPackage, 'package'>) => Registry) {
    this.#registryOf = registryOf
  }

  /** Addresses that did not answer. */
  get silent(): string[] {
    return [...this.#silent]
  }

  /**
   * Whether a version is on its registry; undefined where that does not answer.
   *
   * *Cancellation*: leaves nothing behind.
   */
  async isThere(
    of: WorkspacePackage,
    version: string,
    wait: WaitOptions,
  ): Promise<boolean | undefined> {
    const registry = this.#registryOf({ package: of })
    if (this.#silent.has(registry.url)) return undefined
    try {
      return (await registry.read(of.name, version, wait)) !== undefined
    } catch {
      this.#silent.add(registry.url)
      return undefined
    }
  }

  /**
   * Which planned versions are on their registries, by name of the package.
   *
   * *Cancellation*: leaves nothing behind.
   * *Fairness*: registries are asked in the order of names, a few questions at a time.
   */
  async published(
    { packages }: ReleasePlan,
    wait: WaitOptions,
  ): Promise<ReadonlyMap<string, boolean>> {
    const published = new Map<string, boolean>()
    const included = [...packages.values()].filter(({ status }) => status === 'included')
    await mapLimited(included, questionsAtOnce, async ({ package: of, version }) => {
      const isThere = await this.isThere(of, version, wait)
      if (isThere !== undefined) published.set(of.name, isThere)
    })
    return published
  }
}
