import { tagName } from '../git/tag-format.ts'
import { inReleaseOrder } from '../plan/output/plan-levels.ts'
import { nodeName } from '../stages/stages.ts'
import { gitTagOf, type Checked, type Release } from '../stages/stage-functions.ts'

/** How tools call Git tags. */
const formats = ['{name}@{version}', '{name}@v{version}', '{name}-v{version}', 'v{version}']

/**
 * A warning for versions that are on the registry and have no Git tag, in a repository whose releases have
 * them: a process that was killed between upload and tag leaves such a version, and the next plan from commits would
 * count its changes again. Not every registry reports the commit from which it was published.
 */
export function untaggedWarning(release: Release, results: ReadonlyMap<string, unknown>): string[] {
  const { plan, options, tags, repository } = release
  if (options.tag === false || options.dryRun === true || repository === undefined) return []
  const included = inReleaseOrder(plan).filter(({ status }) => status === 'included')
  const isTagged = included.some(
    (planned) =>
      tags.has(gitTagOf(release, planned)) ||
      typeof results.get(nodeName(planned.package.name, 'tag')) === 'string',
  )
  const untagged = included.filter(({ package: { name }, version }) => {
    const checked = results.get(nodeName(name, 'check')) as Checked | undefined
    const isLeftAlone = checked?.isOld === true && !checked.isOfThisCommit
    return isLeftAlone && !formats.some((format) => tags.has(tagName(name, version, format)))
  })
  if (!isTagged || untagged.length === 0) return []
  const names = untagged.slice(0, 10).map((planned) => gitTagOf(release, planned))
  const more = untagged.length > names.length ? ` and ${untagged.length - names.length} more` : ''
  return [
    `On the registry without a Git tag: ${names.join(', ')}${more}. Make each on the commit that was published: git tag TAG COMMIT.`,
  ]
}
