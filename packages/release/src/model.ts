/**
 * The nouns that all folders of this package share: the packages of a workspace, the plan, the uploaded
 * archive, and the outcome.
 */

export const ecosystems = ['npm', 'python'] as const
export type Ecosystem = (typeof ecosystems)[number]

/** A dependency on another package of the same workspace. */
export interface InternalDependency {
  readonly name: string
  /** Where the manifest lists it: `dependencies`, `peerDependencies`, `project.dependencies`, … */
  readonly group: string
  /** The range as written: `workspace:^`, `^1.0.0`, `[extra]>=1; python_version < "4"`. */
  readonly range: string
  /** The name that the manifest lists, where it is another one: `"core": "npm:@acme/core@^1"`. */
  readonly alias?: string
}

export interface WorkspacePackage {
  readonly name: string
  readonly version: string
  readonly ecosystem: Ecosystem
  /** Absolute. */
  readonly folder: string
  /** Absolute: package.json or pyproject.toml. */
  readonly manifestFile: string
  /** The manifest as read. */
  readonly manifest: Readonly<Record<string, unknown>>
  /** Never published. */
  readonly isPrivate: boolean
  /**
   * Released only when its name is asked for: the root of a workspace whose tool publishes only its members, or a
   * member that pnpm lists and `workspaces` of package.json does not (decision 0760).
   */
  readonly leftOut?: 'root' | 'unlisted'
  /** Python: requirements that its build computes (`dynamic = ["dependencies"]`). */
  readonly builtRequirements?: readonly string[]
  readonly dependencies: readonly InternalDependency[]
}

export interface Workspace {
  /** Absolute. */
  readonly root: string
  readonly tool: 'npm' | 'pnpm' | 'yarn' | 'bun' | 'uv' | 'single'
  /** Keyed by name. */
  readonly packages: ReadonlyMap<string, WorkspacePackage>
  /** Versions that `catalog:` and `catalog:name` mean; the default catalog is called `default`. */
  readonly catalogs: ReadonlyMap<string, ReadonlyMap<string, string>>
  /** Sentences that name what was left out although a reader may expect it. */
  readonly warnings?: readonly string[]
}

export type PlanStatus = 'included' | 'unchanged' | 'private' | 'excluded'

/** One change that a new version is made of, for its changelog. */
export interface PlannedChange {
  readonly bump: 'major' | 'minor' | 'patch'
  /** One or more lines, as the author wrote them. */
  readonly text: string
  /** The id of the changeset that says so. */
  readonly changeset?: string
}

export interface PlannedPackage {
  readonly package: WorkspacePackage
  /** The version that will be published, or the one it stays at. */
  readonly version: string
  readonly status: PlanStatus
  /** Why, for people: `feat: add x`, `depends on @a/core`, `"private": true`. */
  readonly reason: string
  /** Included packages whose release must be there first, sorted. */
  readonly after: readonly string[]
  /** For reading only: 0 needs nothing of this release. */
  readonly level: number
  /** `latest`, or the name of the prerelease. */
  readonly distTag: string
  /** Its visibility, where the plan or the manifest sets one. */
  readonly access?: 'public' | 'restricted'
  /** What changed since the last version, where the source of the plan knows it. */
  readonly changes?: readonly PlannedChange[]
}

/** Where the versions of a plan come from. */
export const planSources = ['manifests', 'changesets', 'commits', 'publish-plan'] as const
export type PlanSource = (typeof planSources)[number]

export interface ReleasePlan {
  readonly workspace: Workspace
  readonly source: PlanSource
  /** All packages of the workspace, by name. */
  readonly packages: ReadonlyMap<string, PlannedPackage>
  /** The dist-tag that was asked for, for all npm packages. */
  readonly distTag?: string
  /** Versions that belong to one commit: see plan/snapshot.ts. */
  readonly isSnapshot?: boolean
  /** Warnings for the person who releases, as sentences. */
  readonly warnings?: readonly string[]
}

/** One file that is uploaded. An npm package has one, a Python package a wheel and an sdist. */
export interface Artifact {
  /** Absolute. */
  readonly file: string
  readonly size: number
  /** `sha512-…`, as `dist.integrity` of the npm registry. */
  readonly integrity: string
  /** Hexadecimal, as npm's old `dist.shasum`. */
  readonly sha1: string
  /** Hexadecimal, as PyPI's `digests.sha256`. */
  readonly sha256: string
}

export interface PackedPackage {
  readonly name: string
  readonly version: string
  readonly ecosystem: Ecosystem
  readonly artifacts: readonly Artifact[]
  /** The manifest inside the archive: no `workspace:`, `catalog:`, `link:` or `file:`. */
  readonly manifest: Readonly<Record<string, unknown>>
}

/** How the release of one package ended, as the registry says. */
export type ReleaseOutcome =
  | 'published'
  | 'already-published'
  | 'accepted-not-visible'
  | 'failed'
  | 'blocked'
  | 'conflict'
  | 'skipped'
