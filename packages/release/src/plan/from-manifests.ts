import type { ReleasePlan, Workspace } from '../model.ts'
import { assemblePlan, type Decision, type PlanOptions } from './assemble.ts'

/**
 * The versions are those in the manifests. Published versions are found when
 * the registry is compared.
 *
 * *Cancellation*: nothing is left behind.
 * *Fairness*: the registry is asked in the order of names.
 *
 * @throws `HDL_PACKAGE_CYCLE`, `HDL_PLAN_INVALID`, `HDL_BAD_OPTION`
 */
export async function planFromManifests(
  workspace: Workspace,
  options: PlanOptions = {},
): Promise<ReleasePlan> {
  const decisions = new Map<string, Decision>()
  for (const { name, version, ecosystem } of workspace.packages.values()) {
    const file = ecosystem === 'npm' ? 'package.json' : 'pyproject.toml'
    decisions.set(name, { version, isReleased: true, reason: `version of ${file}` })
  }
  return assemblePlan(workspace, 'manifests', decisions, options)
}
