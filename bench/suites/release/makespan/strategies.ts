/**
 * Ways to order the same work on the same scheduler. Each gives the milliseconds of virtual time from
 * the start until every package is visible.
 */
import { Scheduler, type Graph, type SchedulerOptions } from '@heddle/core'
import { partsOf } from '@heddle/release'
import { concurrency, uploadTime } from '../conditions.ts'
import type { ReleaseModel } from './model.ts'
import { ModelWork } from './work.ts'

/**
 * The resources that a release gives its stages on a machine with enough processors: see
 * `resourcesOf` in packages/release/src/stages/release-options.ts. Nothing may depend on the processors of
 * this machine.
 */
const resources = { cpu: concurrency, upload: concurrency, read: 2 * concurrency, git: 1 }

/** The strategy of `heddle release`: every stage is a node. */
export function byStages(model: ReleaseModel, graph: Graph): Promise<number> {
  return playStages(model, graph, (needs) => needs, { concurrency: Infinity, resources })
}

/** The same stages, where builds and uploads together are no more than the others may do at once. */
export function byStagesInOnePool(model: ReleaseModel, graph: Graph): Promise<number> {
  const inOnePool = ({ cpu = 0, upload = 0 }: Needs): Needs => ({ loop: cpu + upload })
  return playStages(model, graph, inOnePool, { concurrency })
}

type Needs = Readonly<Record<string, number>>

function playStages(
  model: ReleaseModel,
  graph: Graph,
  needsOf: (needs: Needs) => Needs,
  options: SchedulerOptions,
): Promise<number> {
  const nodes = Array.from(graph.nodes(), ({ name, after, job }): Node => [
    name,
    { after, needs: needsOf((job.needs ?? {}) as Needs) },
  ])
  return play(model, nodes, options, async (node, work) => {
    const parts = partsOf(node)
    if (parts?.stage === 'build') await work.build(parts.name)
    else if (parts?.stage === 'upload') await work.upload(parts.name)
    else if (parts?.stage === 'visible') await work.visible(parts.name)
  })
}

/** A package starts when all of the level before it are visible. */
export function byLevels(model: ReleaseModel): Promise<number> {
  const namesAt = Map.groupBy(model.packages, ({ level }) => level)
  const nodes = model.packages.map(({ name, level }): Node => [
    name,
    { after: (namesAt.get(level - 1) ?? []).map((each) => each.name) },
  ])
  return play(model, nodes, { concurrency }, wholePackage)
}

/** A package starts when its dependencies are visible, and keeps its slot until it is visible itself. */
export function holdingSlots(model: ReleaseModel): Promise<number> {
  const nodes = model.packages.map(({ name, after }): Node => [name, { after }])
  return play(model, nodes, { concurrency }, wholePackage)
}

/** A package starts when its dependencies are visible, and gives its slot back after the upload. */
export function freeingSlots(model: ReleaseModel): Promise<number> {
  const waiting = (name: string): string => `${name} visible`
  const nodes = model.packages.flatMap(({ name, after }): Node[] => [
    [name, { after: after.map(waiting) }],
    [waiting(name), { after: [name], needs: { loop: 0 } }],
  ])
  return play(model, nodes, { concurrency }, async (node, work) => {
    const parts = partsOf(node)
    if (parts !== undefined) return work.visible(parts.name)
    await work.build(node)
    await work.upload(node)
  })
}

/**
 * A lower bound for every order of the work: as many builds and uploads at once as there are
 * packages, and every reader sees a version the moment it is there.
 */
export function withoutLimits({ packages }: ReleaseModel): number {
  const built = new Map<string, number>()
  const visible = new Map<string, number>()
  const last = (times: ReadonlyMap<string, number>, names: readonly string[]): number =>
    Math.max(0, ...names.map((name) => times.get(name)!))
  for (const { name, after, build, visibility } of packages) {
    built.set(name, last(built, after) + build)
    const uploadedFrom = Math.max(built.get(name)!, last(visible, after))
    visible.set(name, uploadedFrom + uploadTime + visibility)
  }
  return Math.max(0, ...visible.values())
}

async function wholePackage(name: string, work: ModelWork): Promise<void> {
  await work.build(name)
  await work.upload(name)
  await work.visible(name)
}

type Node = readonly [
  name: string,
  options: { readonly after: readonly string[]; readonly needs?: Needs },
]

async function play(
  model: ReleaseModel,
  nodes: readonly Node[],
  options: SchedulerOptions,
  run: (node: string, work: ModelWork) => Promise<void>,
): Promise<number> {
  const work = new ModelWork(model)
  const { clock, kernel } = work
  const scheduler = new Scheduler({ ...options, timeout: Infinity, kernel })
  for (const [name, nodeOptions] of nodes) scheduler.add(name, nodeOptions)
  const result = await clock.runUntil(scheduler.run((name) => run(name, work)))
  if (!result.ok) throw new Error(`${result.failed.size} of ${nodes.length} nodes failed`)
  return clock.now()
}
