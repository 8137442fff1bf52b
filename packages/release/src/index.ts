export type {
  Artifact,
  Ecosystem,
  InternalDependency,
  PackedPackage,
  PlannedChange,
  PlannedPackage,
  PlanStatus,
  ReleaseOutcome,
  ReleasePlan,
  Workspace,
  WorkspacePackage,
} from './model.ts'

// config/: the settings of every release.
export { branchTag } from './config/branch-tag.ts'
export { defineRelease, readReleaseConfig, type ReleaseConfig } from './config/release-config.ts'

// workspace/: what there is.
export { readWorkspace, type ReadWorkspaceOptions } from './workspace/read-workspace.ts'

// plan/: the packages to release.
export type { OnRegistry, PlanOptions } from './plan/assemble.ts'
export { checkPlan, requireInstallable, type PlanFinding } from './plan/check-plan.ts'
export { planAsPrepared, publishPlanFile } from './plan/choose-source.ts'
export { planFromChangesets } from './plan/from-changesets.ts'
export { planFromCommits, type CommitPlanOptions } from './plan/from-commits.ts'
export { planFromManifests } from './plan/from-manifests.ts'
export { planFromFile } from './plan/publish-plan.ts'
export { releaseProblems, type ReleaseProblem } from './plan/release-problems.ts'
export { planSnapshot, type SnapshotOptions } from './plan/snapshot.ts'
export { RegistryQuestions } from './plan/on-registry.ts'
export { planCsv, planJson } from './plan/output/plan-data.ts'
export { planMermaid } from './plan/output/mermaid.ts'
export { planLevels } from './plan/output/plan-levels.ts'
export { planTable } from './plan/output/plan-table.ts'

// manifest/, pack/, pin/: the uploaded files.
export { releaseManifest } from './manifest/npm-manifest.ts'
export { packNpm, type PackNpmOptions } from './pack/npm.ts'
export { packPython, type PackPythonOptions } from './pack/python.ts'
export { pinInPlace, type PinnedManifests } from './pin/pin-in-place.ts'

// git/: the state of the repository.
export { Repository } from './git/repository.ts'
export { checkTagFormat } from './git/tag-format.ts'

// registry/: where it goes.
export { needsPerson } from './registry/error-class.ts'
export { npmRegistry, type NpmRegistryOptions } from './registry/npm/npm-registry.ts'
export { openRegistries, type Registries } from './registry/open-registries.ts'
export type { OtpPrompt } from './registry/npm/one-time-passwords.ts'
export { pypiRegistry, type PypiRegistryOptions } from './registry/pypi/pypi-registry.ts'
export { publishOnce, type PublishOptions, type PublishResult } from './registry/reconcile.ts'
export type { Registry, Standing, VersionOnRegistry } from './registry/registry.ts'
export { waitVisible, type Visibility, type VisibleOptions } from './registry/visible.ts'

// forge/: where it is announced.
export type { ForgeRelease } from './forge/api.ts'
export { openForge, type Forge } from './forge/forge.ts'

// version/: versions in the repository.
export type { KeptChangeset } from './version/plan-files.ts'
export {
  versionRelease,
  type VersionedPackage,
  type VersionOptions,
  type VersionReport,
} from './version/version.ts'

// stages/, report/, rollback/: the release itself.
export { releaseFolder, type ReleaseFolder } from './lock/release-folder.ts'
export {
  applyRollback,
  describeStep,
  planRollback,
  recordedReleases,
  type RecordedRelease,
  type RollbackOptions,
  type RollbackPlan,
  type RollbackStep,
} from './rollback/rollback.ts'
export { readReleases } from './report/releases.ts'
export { releaseStatus, type PackageStatus, type ReleaseStatus } from './report/status.ts'
export { publishRelease } from './stages/release.ts'
export type { ReleaseOptions } from './stages/release-options.ts'
export { endedStates, partsOf, stageNames, type StageName } from './stages/stages.ts'
export type { PackageReport, Problem, ReleaseReport } from './report/report.ts'
