/**
 * From intents to versions, by the rules of Changesets (read in its version 3, with what version 2
 * did differently where the config was written for it).
 *
 *   intents ──▶ biggest change of each ──▶ dependents ⇄ fixed ⇄ linked, until nothing changes
 *
 *  C1  Bumps only grow, and groups only take the highest version of their members, so it ends.
 *  C2  A dependent is released when the new version is outside of its range, or always if the config
 *      says so; then at least as a patch.
 *  C3  `ignore`, unversioned private packages and what Changesets does not see (decision 0760) are never released, and bring nothing along.
 *
 * In a prerelease the counter continues from the current version, also when the release it leads to
 * changes (1.0.1-rc.0 → 1.1.0-rc.1): that is how Changesets counts.
 */
import semver from 'semver'
import { isWorkspaceRange } from '../../manifest/workspace-range.ts'
import type { InternalDependency, Workspace, WorkspacePackage } from '../../model.ts'
import { compareText } from '../../workspace/workspace-problems.ts'
import { internalRange } from '../internal-range.ts'
import { isDevelopment } from '../release-order.ts'
import { biggerBump, type Bump } from '../versions.ts'
import type { ChangesetsConfig } from './changesets-config.ts'
import type { Intent, PreState } from './intents.ts'

export interface ChangesetRelease {
  readonly name: string
  readonly bump: Bump
  readonly version: string
  readonly reason: string
}

interface Draft {
  readonly name: string
  bump: Bump
  /** The version to which the bump is applied. */
  base: string
  reason: string
}

interface Dependent {
  readonly package: WorkspacePackage
  readonly through: InternalDependency
}

export class ChangesetReleases {
  readonly #workspace: Workspace
  readonly #config: ChangesetsConfig
  readonly #pre: PreState | undefined
  readonly #drafts = new Map<string, Draft>()
  readonly #dependents = new Map<string, Dependent[]>()

  constructor(workspace: Workspace, config: ChangesetsConfig, pre: PreState | undefined) {
    this.#workspace = workspace
    this.#config = config
    this.#pre = pre
    this.#indexDependents()
  }

  /** Whether it is neither released nor versioned (C3). */
  isSkipped({ name, ecosystem, isPrivate, leftOut }: WorkspacePackage): boolean {
    return (
      ecosystem !== 'npm' ||
      leftOut === 'unlisted' ||
      this.#config.ignore.has(name) ||
      (isPrivate && !this.#config.versionsPrivate)
    )
  }

  /** The packages that get a new version, by name. */
  from(intents: readonly Intent[]): ChangesetRelease[] {
    const isPre = this.#pre?.mode === 'pre'
    for (const intent of intents) if (!(isPre && intent.isUsed)) this.#take(intent)
    for (let changed = true; changed;) {
      changed = this.#spread()
      changed = this.#align(this.#config.fixed, true) || changed
      changed = this.#align(this.#config.linked, false) || changed
    }
    if (this.#pre?.mode === 'exit') this.#leavePrerelease()
    return [...this.#drafts.values()]
      .filter(({ bump }) => bump !== 'none')
      .map((draft) => ({
        name: draft.name,
        bump: draft.bump,
        version: this.#next(draft),
        reason: draft.reason,
      }))
      .toSorted((a, b) => compareText(a.name, b.name))
  }

  #take({ bumps, summary, id }: Intent): void {
    for (const [name, bump] of bumps) {
      if (this.isSkipped(this.#package(name))) continue
      const draft = this.#drafts.get(name)
      const reason = `${bump}: ${summary === '' ? id : summary}`
      if (draft === undefined)
        this.#drafts.set(name, { name, bump, base: this.#package(name).version, reason })
      else if (biggerBump(draft.bump, bump) !== draft.bump) Object.assign(draft, { bump, reason })
    }
  }

  /** To the dependents of released packages, and to theirs (C2). */
  #spread(): boolean {
    let changed = false
    // A list also yields items that are added during the walk.
    const open = [...this.#drafts.values()]
    for (const draft of open) {
      if (draft.bump === 'none') continue
      for (const { package: dependent, through } of this.#dependents.get(draft.name) ?? []) {
        const bump = this.#bumpOf(dependent, draft, through)
        const known = this.#drafts.get(dependent.name)
        if (bump === 'none' || biggerBump(known?.bump ?? 'none', bump) === known?.bump) continue
        const reason = `depends on ${draft.name}`
        const next = known ?? { name: dependent.name, bump, base: dependent.version, reason }
        Object.assign(next, { bump, reason })
        this.#drafts.set(dependent.name, next)
        open.push(next)
        changed = true
      }
    }
    return changed
  }

  #bumpOf(dependent: WorkspacePackage, draft: Draft, through: InternalDependency): Bump {
    const { peers, updateInternalDependents } = this.#config
    const allowed = internalRange(through, draft.base, this.#workspace)
    const isPeer = through.group === 'peerDependencies'
    if (this.isSkipped(dependent) || allowed === undefined) return 'none'
    const isOutside = !semver.satisfies(this.#next(draft), allowed)
    const isLarge = draft.bump !== 'patch'
    if (
      isPeer &&
      isLarge &&
      (peers === 'major' || (peers === 'major-when-out-of-range' && isOutside))
    )
      return 'major'
    return isOutside || updateInternalDependents === 'always' ? 'patch' : 'none'
  }

  /** Members of a group get the biggest change of all and start from the highest version. */
  #align(groups: ChangesetsConfig['fixed'], isFixed: boolean): boolean {
    let changed = false
    for (const group of groups) {
      const released = group
        .map((name) => this.#drafts.get(name))
        .filter((draft) => draft !== undefined && draft.bump !== 'none')
      if (released.length === 0) continue
      const bump = released.reduce<Bump>(
        (biggest, draft) => biggerBump(biggest, draft!.bump),
        'none',
      )
      const base = group
        .map((name) => this.#package(name).version)
        .reduce((a, b) => (semver.gt(b, a) ? b : a))
      const members = isFixed
        ? group.filter((name) => !this.isSkipped(this.#package(name)))
        : released.map((draft) => draft!.name)
      for (const name of members) {
        const draft = this.#drafts.get(name)
        if (draft?.bump === bump && draft.base === base) continue
        const reason =
          draft === undefined || draft.bump === 'none'
            ? `fixed with ${released[0]!.name}`
            : draft.reason
        this.#drafts.set(name, { name, bump, base, reason })
        changed = true
      }
    }
    return changed
  }

  /** Whatever had a prerelease gets its release, also if nothing else asks for it. */
  #leavePrerelease(): void {
    for (const each of this.#workspace.packages.values()) {
      if (this.isSkipped(each) || semver.prerelease(each.version) === null) continue
      const draft = this.#drafts.get(each.name)
      if (draft !== undefined && draft.bump !== 'none') continue
      this.#drafts.set(each.name, {
        name: each.name,
        bump: 'patch',
        base: each.version,
        reason: `leaves the prerelease ${this.#pre!.tag}`,
      })
    }
  }

  #next({ name, bump, base }: Draft): string {
    if (bump === 'none') return base
    const target = semver.inc(base, bump)!
    return this.#pre?.mode === 'pre' ? `${target}-${this.#pre.tag}.${this.#counter(name)}` : target
  }

  /** Groups count together. */
  #counter(name: string): number {
    const group = [...this.#config.linked, ...this.#config.fixed].find((members) =>
      members.includes(name),
    ) ?? [name]
    const counts = group.map((member) => {
      const count = semver.prerelease(this.#package(member).version)?.[1]
      return typeof count === 'number' ? count + 1 : 0
    })
    return Math.max(...counts)
  }

  #indexDependents(): void {
    for (const dependent of this.#workspace.packages.values()) {
      for (const through of dependent.dependencies) {
        if (isDevelopment(through.group)) continue
        if (this.#config.workspaceProtocolOnly && !isWorkspaceRange(through.range)) continue
        const { version } = this.#package(through.name)
        const allowed = internalRange(through, version, this.#workspace)
        // It means another version than the one of this workspace, and keeps it.
        if (allowed === undefined || !semver.satisfies(version, allowed)) continue
        const list = this.#dependents.get(through.name) ?? []
        list.push({ package: dependent, through })
        this.#dependents.set(through.name, list)
      }
    }
  }

  #package(name: string): WorkspacePackage {
    return this.#workspace.packages.get(name)!
  }
}
