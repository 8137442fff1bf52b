import { planFromManifests } from '../../src/plan/from-manifests.ts'
import { openRegistries } from '../../src/registry/open-registries.ts'
import type { ReleaseReport } from '../../src/report/report.ts'
import type { ReleaseOptions } from '../../src/stages/release-options.ts'
import { publishRelease } from '../../src/stages/release.ts'
import { readWorkspace } from '../../src/workspace/read-workspace.ts'
import type { Monorepo } from './monorepo.ts'

/** Publishes the versions in the manifests of a repository, quickly and without a smoke test. */
export async function publishManifests(
  repo: Pick<Monorepo, 'root'>,
  url: string,
  options: Partial<ReleaseOptions> = {},
): Promise<ReleaseReport> {
  await using registries = await openRegistries({ folder: repo.root, npm: url, env: {} })
  const plan = await planFromManifests(await readWorkspace(repo.root))
  // Awaited here: the registries are closed behind it.
  return await publishRelease(plan, {
    registryOf: registries.registryOf,
    smoke: false,
    retryBaseDelay: 1,
    settle: 50,
    ...options,
  })
}

export const outcomesOf = ({ packages }: ReleaseReport): Record<string, string> =>
  Object.fromEntries(packages.map(({ name, outcome }) => [name, outcome]))
