/** `changeset publish-plan --output FILE`: which packages Changesets 3 would publish. */
import path from 'node:path'
import { suggest } from '@heddle/core/lowlevel'
import { isFields, type Fields } from '../manifest/local-range.ts'
import type { ReleasePlan, Workspace } from '../model.ts'
import { readDocument } from '../workspace/documents.ts'
import { Problems } from '../workspace/workspace-problems.ts'
import { assemblePlan, type Decision, type PlanOptions } from './assemble.ts'

/**
 * Reads a publish plan. Its groups are not kept: dependencies are known from the manifests, and a
 * package starts when its own dependencies are there.
 *
 * *Cancellation*: nothing is left behind.
 * *Fairness*: the registry is asked in the order of names.
 *
 * @throws `HDL_WORKSPACE_INVALID` with everything in it that does not fit the workspace, and as
 * `planFromManifests`.
 */
export async function planFromFile(
  workspace: Workspace,
  file: string,
  options: PlanOptions = {},
): Promise<ReleasePlan> {
  const problems = new Problems(workspace.root)
  const absolute = path.resolve(workspace.root, file)
  const todo = 'Make the plan again with `changeset publish-plan --output FILE`.'
  const refuse = (problem: string): void => problems.add({ file: absolute, problem, todo })
  const document = await readDocument(absolute, problems)
  if (document === undefined && problems.count === 0) refuse('it is not there')
  const decisions = new Map<string, Decision>()
  for (const { name, version } of workspace.packages.values()) {
    decisions.set(name, {
      version,
      isReleased: false,
      reason: `not listed in ${path.basename(file)}`,
    })
  }
  for (const entry of entriesOf(document?.fields, refuse)) {
    const { kind, name, version, tag, access } = entry
    if (kind === 'tag-only') continue
    if (kind !== 'publish' || typeof name !== 'string' || typeof version !== 'string') {
      refuse(`it has an entry that is not a release: ${JSON.stringify(entry)}`)
      continue
    }
    const found = workspace.packages.get(name)
    if (found === undefined) {
      const similar = suggest(name, workspace.packages.keys())
      refuse(
        `the workspace has no package "${name}"${similar === undefined ? '' : `; did you mean "${similar}"?`}`,
      )
    } else if (found.version !== version) {
      refuse(`it releases ${name}@${version}, but the manifest says ${found.version}`)
    } else if (found.isPrivate) {
      refuse(`it releases ${name}, which is private`)
    } else {
      decisions.set(name, {
        version,
        isReleased: true,
        reason: `listed in ${path.basename(file)}`,
        distTag: typeof tag === 'string' ? tag : undefined,
        access: access === 'public' || access === 'restricted' ? access : undefined,
      })
    }
  }
  problems.throwIfAny()
  return assemblePlan(workspace, 'publish-plan', decisions, options)
}

function entriesOf(fields: Fields | undefined, refuse: (problem: string) => void): Fields[] {
  if (fields === undefined) return []
  const { version, plan } = fields
  if (version !== 1)
    refuse(`its version is ${JSON.stringify(version)}, this reader knows version 1`)
  if (Array.isArray(plan)) return plan.flat().filter(isFields)
  refuse('it has no list `plan`')
  return []
}
