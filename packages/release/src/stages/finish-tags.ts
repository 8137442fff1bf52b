/**
 * Git tags that a killed release did not come to: its versions are on the registry, and a later commit is released.
 *
 *   recorded upload ──its tag exists──────────────▶ nothing to do
 *                   ──the registry has another one─▶ nothing to do
 *                   ──else─────────────────────────▶ the tag is made on the commit of the upload, and pushed
 *
 * Uploads are recorded by the journal of this clone, and by the lease that a killed release of another clone
 * has left on the remote.
 *
 * Invariants, quoted by the tests:
 *  FT1  A tag is made only where a record of Heddle names the commit: versions of other tools stay without one.
 *  FT2  A tag is made only when the registry has the version, with the content or the commit that was recorded.
 */
import type { Journal, WaitOptions } from '@heddle/core/lowlevel'
import type { Repository } from '../git/repository.ts'
import { tagFormatOf, tagName } from '../git/tag-format.ts'
import type { PackedPackage, ReleasePlan } from '../model.ts'
import { packedOf } from '../report/artifacts.ts'
import { isDone } from './earlier.ts'
import type { ReleaseOptions } from './release-options.ts'
import { nodeName, partsOf } from './stages.ts'
import type { Begun } from './stage-functions.ts'

/** An upload that was begun, and whose Git tag no process has recorded as made. */
export interface UntaggedUpload {
  readonly name: string
  readonly version: string
  readonly commit: string
  /** The uploaded package, where it is known. */
  readonly packed?: PackedPackage
}

/** Releases abandoned long ago are not read. */
const mostRuns = 20

/**
 * Uploads of earlier releases of this clone, other than the one that `title` names.
 *
 * *Cancellation*: none; it reads files of this machine.
 */
export async function untaggedUploads(journal: Journal, title: string): Promise<UntaggedUpload[]> {
  const uploads: UntaggedUpload[] = []
  for (const run of await journal.runs({ limit: mostRuns })) {
    if (run.title === title || isDone(run)) continue
    const { nodes } = await journal.snapshot(run.id)
    const untagged = nodes.flatMap(({ name: node, state }) => {
      const parts = partsOf(node)
      return parts?.stage === 'tag' && state !== 'succeeded' ? [parts.name] : []
    })
    if (untagged.length === 0) continue
    const results = new Map<string, unknown>()
    for await (const [node, value] of journal.results(run.id)) results.set(node, value)
    for (const name of untagged) {
      const begun = results.get(nodeName(name, 'begin')) as Begun | null | undefined
      const packed = packedOf(results, name)
      const commit = begun?.commit
      if (!commit || packed === undefined) continue
      uploads.push({ name, version: packed.version, commit, packed })
    }
  }
  return uploads
}

export interface FinishTagsSubject {
  readonly plan: ReleasePlan
  readonly repository: Repository | undefined
  readonly uploads: readonly UntaggedUpload[]
}

/**
 * Returns the tags that it made.
 *
 * *Cancellation*: ends Git; tags that were made stay.
 */
export async function finishTags(
  { plan, repository, uploads }: FinishTagsSubject,
  options: Pick<ReleaseOptions, 'registryOf' | 'tag' | 'tagFormat' | 'push' | 'onNotice'>,
  wait: WaitOptions,
): Promise<string[]> {
  if (repository === undefined || options.tag === false || uploads.length === 0) return []
  const format = tagFormatOf(plan.workspace.tool, options.tagFormat)
  const known = await repository.tags(wait)
  const wanted = new Map<string, Map<string, string>>()
  for (const upload of uploads) {
    const { name, version, commit } = upload
    const tag = tagName(name, version, format)
    if (known.has(tag) || !(await repository.hasCommit(commit, wait))) continue
    if (!(await isPublished(upload, plan, options, wait))) continue
    wanted.set(commit, (wanted.get(commit) ?? new Map()).set(tag, `${name} ${version}`))
  }
  const all: string[] = []
  for (const [commit, messages] of wanted) {
    const made = [...(await repository.makeTags(messages, wait, commit))]
    all.push(...made)
    if (made.length === 0) continue
    options.onNotice?.(
      `made ${made.join(', ')} on ${commit.slice(0, 12)}: an interrupted release has published it`,
    )
    if (options.push !== undefined) await repository.push(options.push, made, wait)
  }
  return all
}

/** FT2 */
async function isPublished(
  { name, version, commit, packed }: UntaggedUpload,
  { packages }: ReleasePlan,
  { registryOf }: Pick<ReleaseOptions, 'registryOf'>,
  wait: WaitOptions,
): Promise<boolean> {
  const planned = packages.get(name)
  if (planned === undefined || planned.package.isPrivate) return false
  const registry = registryOf(planned)
  if (packed !== undefined) return (await registry.compare(packed, wait)).is === 'ours'
  const found = await registry.read(name, version, wait)
  return found !== undefined && (found.gitHead ?? commit) === commit
}
