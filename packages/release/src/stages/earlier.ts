/** What an earlier process of the same release left behind. */
import type { Journal, RunSnapshot, RunSummary } from '@heddle/core/lowlevel'
import { isRefusal } from '../registry/error-class.ts'
import type { PackedPackage } from '../model.ts'
import { lostArchives, packedOf } from '../report/artifacts.ts'
import { nodeName, partsOf } from './stages.ts'
import type { Begun, Checked } from './stage-functions.ts'

export interface Earlier {
  /** The run to resume. Undefined when there is none. */
  readonly resume: string | undefined
  /** Packages whose upload was begun and has no recorded end: it may have happened (G2). */
  readonly unsure: ReadonlySet<string>
  /** The sources of packages whose upload may have happened, or has (G4). */
  readonly sources: ReadonlyMap<string, string>
  /** Packages that must be packed again, whatever they were packed from. */
  readonly lost: ReadonlySet<string>
  /** Packages that were uploaded and did not show in time, as they were packed. */
  readonly unseen: ReadonlyMap<string, PackedPackage>
  /** How often each was uploaded again. */
  readonly turns: ReadonlyMap<string, number>
  /** Packages that the registry did not have when they were checked. */
  readonly absent: ReadonlySet<string>
}

/**
 * *Cancellation*: none; it reads files of this machine.
 */
export async function readEarlier(journal: Journal, title: string): Promise<Earlier> {
  const unsure = new Set<string>()
  const sources = new Map<string, string>()
  const unseen = new Map<string, PackedPackage>()
  const turns = new Map<string, number>()
  const absent = new Set<string>()
  const last = (await journal.runs()).find((run) => run.title === title)
  if (last === undefined || isDone(last)) {
    const none = new Map<string, never>()
    const empty = new Set<string>()
    return {
      resume: undefined,
      unsure,
      sources,
      lost: empty,
      unseen: none,
      turns: none,
      absent: empty,
    }
  }
  const { nodes } = await journal.snapshot(last.id)
  const byName = new Map(nodes.map((node) => [node.name, node]))
  const results = new Map<string, unknown>()
  for await (const [node, value] of journal.results(last.id)) results.set(node, value)
  const refused = refusedUploads(nodes)
  for (const { name: node, state } of nodes) {
    const parts = partsOf(node)
    if (parts?.stage !== 'upload') continue
    const begin = nodeName(parts.name, 'begin')
    const begun = results.get(begin) as Begun | null | undefined
    // A result whose node has fallen is that of an archive which is not there any more.
    if (!begun || byName.get(begin)?.state !== 'succeeded') continue
    if (refused.has(parts.name)) continue
    sources.set(parts.name, begun.sources)
    if (state !== 'succeeded') unsure.add(parts.name)
    const seen = byName.get(nodeName(parts.name, 'visible'))
    const packed = packedOf(results, parts.name)
    const isUnseen = seen?.state === 'failed' && seen.errors.at(-1)?.code === 'HDL_NOT_VISIBLE'
    if (state === 'succeeded' && isUnseen && packed !== undefined) unseen.set(parts.name, packed)
  }
  for (const [node, value] of results) {
    const parts = partsOf(node)
    if (parts?.stage === 'turn') turns.set(parts.name, value as number)
    if (parts?.stage === 'check' && !(value as Checked).isOld) absent.add(parts.name)
  }
  const lost = await lostArchives(results, unseen)
  return { resume: last.id, unsure, sources, lost, unseen, turns, absent }
}

/** Packages whose upload the registry has refused: it has not happened (G2). */
export function refusedUploads(nodes: RunSnapshot['nodes']): ReadonlySet<string> {
  const refused = nodes.flatMap(({ name: node, state, errors }) => {
    const parts = partsOf(node)
    const isRefused =
      parts?.stage === 'upload' && state === 'failed' && isRefusal(errors.at(-1)?.code)
    return isRefused ? [parts.name] : []
  })
  return new Set(refused)
}

/** Whether every stage of a release succeeded. */
export function isDone({ state, counts }: RunSummary): boolean {
  const { succeeded = 0, ...others } = counts
  return (
    state === 'finished' && succeeded > 0 && Object.values(others).every((count) => count === 0)
  )
}
