/**
 * The graph of stages that `publishRelease` runs, without running it: it hands the graph out before
 * the first stage starts, and an error at that point ends it.
 */
import type { Graph } from '@heddle/core'
import { VirtualClock } from '@heddle/core/testing'
import {
  publishRelease,
  type PlannedPackage,
  type ReleaseOptions,
  type ReleasePlan,
  type WorkspacePackage,
} from '@heddle/release'
import { ModelRegistry } from './model-registry.ts'
import type { ModelPackage, ReleaseModel } from './model.ts'

class GraphTaken extends Error {
  override readonly name = 'GraphTaken'
}

const version = '1.0.0'

/** `folder` is for the journal of the release, which stays empty. */
export async function stageGraph(
  model: ReleaseModel,
  folder: string,
  options: Pick<ReleaseOptions, 'gate'> = {},
): Promise<Graph> {
  const registry = new ModelRegistry(model, new VirtualClock())
  let taken: Graph | undefined
  try {
    await publishRelease(planOf(model, folder), {
      ...options,
      registryOf: () => registry,
      // The model has no time for it: a stage that the peers lack must not count against ours.
      smoke: false,
      onGraph: (graph) => {
        taken = graph
        throw new GraphTaken()
      },
    })
  } catch (error) {
    if (!(error instanceof GraphTaken)) throw error
  }
  return taken!
}

function planOf({ packages }: ReleaseModel, root: string): ReleasePlan {
  const planned = packages.map((each): [string, PlannedPackage] => [
    each.name,
    {
      package: packageOf(each, root),
      version,
      status: 'included',
      reason: 'the model says so',
      after: each.after.toSorted(),
      level: each.level,
      distTag: 'latest',
    },
  ])
  const inWorkspace = new Map(planned.map(([name, each]) => [name, each.package]))
  return {
    workspace: { root, tool: 'npm', packages: inWorkspace, catalogs: new Map() },
    source: 'manifests',
    packages: new Map(planned),
  }
}

function packageOf({ name, after }: ModelPackage, root: string): WorkspacePackage {
  const dependencies = Object.fromEntries(after.map((each) => [each, 'workspace:^']))
  return {
    name,
    version,
    ecosystem: 'npm',
    folder: `${root}/packages/${name}`,
    manifestFile: `${root}/packages/${name}/package.json`,
    manifest: { name, version, dependencies },
    isPrivate: false,
    dependencies: after.map((each) => ({
      name: each,
      group: 'dependencies',
      range: 'workspace:^',
    })),
  }
}
