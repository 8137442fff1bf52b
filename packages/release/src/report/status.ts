/** The state of a release: published versions, tags, the process that works on it, the remaining steps. */
import { readFile } from 'node:fs/promises'
import os from 'node:os'
import type { LockHolder, WaitOptions } from '@heddle/core/lowlevel'
import { Repository } from '../git/repository.ts'
import { tagFormatOf, tagName } from '../git/tag-format.ts'
import { releaseFolder, type ReleaseFolder } from '../lock/release-folder.ts'
import type { ReleasePlan } from '../model.ts'
import { inReleaseOrder } from '../plan/output/plan-levels.ts'
import type { RegistryOf } from '../stages/release-options.ts'
import { partsOf } from '../stages/stages.ts'
import { mapLimited, questionsAtOnce } from '../workspace/limited.ts'
import { readReleases } from './releases.ts'

export interface PackageStatus {
  readonly name: string
  readonly version: string
  readonly registry: string
  readonly isPublished: boolean
  /** The version that installers get without asking for one. */
  readonly taggedVersion?: string
  readonly deprecated?: string
  /** The Git tag, where there is one. */
  readonly gitTag?: string
}

export interface ReleaseStatus {
  readonly packages: readonly PackageStatus[]
  /** Whether there is a repository to make Git tags in. */
  readonly isRepository: boolean
  /** The current holder of the release, as far as the file beside the lock names it. */
  readonly holder?: LockHolder
  /** The last release of this repository. */
  readonly last?: {
    readonly run: string
    readonly state: string
    readonly startedAt: number
    readonly succeeded: number
    readonly stages: number
    readonly packages: number
    /** Packages all of whose stages succeeded. */
    readonly done: number
  }
}

/**
 * Reads the registry, the journal and Git; changes nothing and needs no lock.
 *
 * *Cancellation*: leaves nothing behind.
 * *Fairness*: packages are asked for in the order of the release, a few at a time.
 */
export async function releaseStatus(
  plan: ReleasePlan,
  options: WaitOptions & { readonly registryOf: RegistryOf; readonly tagFormat?: string },
): Promise<ReleaseStatus> {
  const { root, tool } = plan.workspace
  const repository = await Repository.open(root, options)
  const tags = (await repository?.tags(options)) ?? new Map<string, string>()
  const included = inReleaseOrder(plan).filter(({ status }) => status === 'included')
  const packages = await mapLimited(
    included,
    questionsAtOnce,
    async (planned): Promise<PackageStatus> => {
      const { version, package: of } = planned
      const registry = options.registryOf(planned)
      const found = await registry.read(of.name, version, options)
      const taggedVersion = (await registry.tags(of.name, options)).get(planned.distTag)
      const gitTag = tagName(of.name, version, tagFormatOf(tool, options.tagFormat))
      return {
        name: of.name,
        version,
        registry: registry.url,
        isPublished: found !== undefined,
        ...(taggedVersion !== undefined && { taggedVersion }),
        ...(found?.deprecated !== undefined && { deprecated: found.deprecated }),
        ...(tags.has(gitTag) && { gitTag }),
      }
    },
  )
  const folder = await releaseFolder(root, options.signal)
  const holder = await readHolder(`${folder.lock}.json`)
  const last = await lastRelease(folder)
  return {
    packages,
    isRepository: repository !== undefined,
    ...(holder !== undefined && { holder }),
    ...(last !== undefined && { last }),
  }
}

/**
 * A killed process leaves the file, but its lock is free. For another machine, only the file is
 * known.
 */
async function readHolder(file: string): Promise<LockHolder | undefined> {
  try {
    const holder = JSON.parse(await readFile(file, 'utf8')) as LockHolder
    return holder.hostname === os.hostname() && !isAlive(holder.pid) ? undefined : holder
  } catch {
    // For people only: without it the lock is as good.
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function lastRelease(folder: ReleaseFolder): Promise<ReleaseStatus['last']> {
  await using journal = await readReleases(folder)
  const [run] = (await journal?.runs({ limit: 1 })) ?? []
  if (run === undefined) return undefined
  const { id, state, startedAt, counts } = run
  const stages = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const { nodes } = await journal!.snapshot(id)
  const isDone = new Map<string, boolean>()
  for (const { name: node, state: at } of nodes) {
    const parts = partsOf(node)
    if (parts === undefined) continue
    isDone.set(parts.name, (isDone.get(parts.name) ?? true) && at === 'succeeded')
  }
  const done = [...isDone.values()].filter(Boolean).length
  const succeeded = counts.succeeded ?? 0
  return { run: id, state, startedAt, succeeded, stages, packages: isDone.size, done }
}
