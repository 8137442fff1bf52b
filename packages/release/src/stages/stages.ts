/**
 * The stages of one package, in order, and the resources of each.
 *
 *   manifest ─▶ check, sources ─▶ build ─▶ pack ─▶ sign, turn, begin ─▶ upload ─▶ visible ─▶ verify ─┬▶ smoke
 *                                                                  └─▶ approve ─┘             └▶ tag ─▶ notes
 *
 * `sources` only marks the sources of the build, and `turn` how often an upload was taken and lost: for the
 * process that resumes the release later.
 *
 * A stage is a node of the graph, so a slow build of one package never holds up the upload of
 * another, and waiting for a registry to show a version takes nothing at all.
 */
import type { Needs } from '@heddle/core'

export const stageNames = [
  'manifest',
  'check',
  'sources',
  'build',
  'pack',
  'sign',
  'turn',
  'begin',
  'upload',
  'approve',
  'visible',
  'verify',
  'scripts',
  'smoke',
  'tag',
  'notes',
] as const

export type StageName = (typeof stageNames)[number]

/** What there is of each: see {@link stageNeeds}. */
export interface StageResources {
  /** Builds, archives and installations at once. */
  readonly cpu: number
  /** Uploads at once. */
  readonly upload: number
  /** Questions to the registry at once, beside the waits for a version to become visible. */
  readonly read: number
}

export const stageNeeds: Readonly<Record<StageName, Needs>> = {
  manifest: {},
  check: { read: 1 },
  sources: {},
  build: { cpu: 1 },
  pack: { cpu: 1 },
  sign: { read: 1 },
  turn: {},
  begin: { read: 1 },
  upload: { upload: 1 },
  approve: { upload: 1 },
  // Waiting takes nothing, not even a permit of the loop.
  visible: { loop: 0 },
  verify: { read: 1 },
  scripts: { cpu: 1 },
  smoke: { cpu: 1 },
  // Waits for its batch, as does `visible` for the registry.
  tag: { loop: 0 },
  notes: { read: 1 },
}

/** States of a node in which it does not run any more. */
export const endedStates: ReadonlySet<string> = new Set([
  'succeeded',
  'failed',
  'blocked',
  'skipped',
  'cancelled',
])

/** The name of a node: for people first. */
export function nodeName(name: string, stage: StageName): string {
  return `${name} ${stage}`
}

/** Package and stage of the name of a node. Undefined for a node that is not a stage of a package. */
export function partsOf(
  node: string,
): { readonly name: string; readonly stage: StageName } | undefined {
  const at = node.lastIndexOf(' ')
  const stage = stageNames.find((each) => each === node.slice(at + 1))
  return stage === undefined || at < 0 ? undefined : { name: node.slice(0, at), stage }
}
