/**
 * Which packages must be on the registry before which others.
 *
 *  RO1  A package comes after every released package that it needs when it is installed or built: dependencies,
 *       optionalDependencies, peerDependencies; requirements, extras and build requirements of Python.
 *       devDependencies and dependency groups make no order: installing the package does not bring them.
 *  RO2  A circle is an error that names its packages, before anything is done (scenarios 13 and 14).
 *  RO3  A circle that only peerDependencies or extras of Python close is not an error: neither package installs the
 *       other by itself. Inside such a circle they give no order, which is reported as a warning. The order that a
 *       config says is as firm as a dependency.
 *  RO4  The order depends on names only, not on how the packages were found.
 *
 * All walks are loops: the stack is not deeper for a chain of 100,000 packages than for one of 10.
 */
import { HeddleError } from '@heddle/core'
import type { InternalDependency, WorkspacePackage } from '../model.ts'
import { compareText } from '../workspace/workspace-problems.ts'

export interface ReleaseOrder {
  /** Keyed by package: the packages that must be there first, sorted. */
  readonly after: ReadonlyMap<string, readonly string[]>
  /** For reading only. */
  readonly levels: ReadonlyMap<string, number>
  /** Peers and extras that make no order because they are in a circle: dependent and dependency. */
  readonly loosePeers: readonly (readonly [string, string])[]
}

type Edges = ReadonlyMap<string, readonly string[]>

/** Whether a group is only for developers of the package. */
export function isDevelopment(group: string): boolean {
  return (
    group === 'devDependencies' ||
    group.startsWith('dependency-groups.') ||
    group.startsWith('tool.')
  )
}

/** Whether a package can be installed without the packages of the group. */
function isOptional(group: string): boolean {
  return group === 'peerDependencies' || group.startsWith('project.optional-dependencies')
}

/** The dependencies that must be installable before the package can be installed. */
export function neededDependencies({ dependencies }: WorkspacePackage): InternalDependency[] {
  return dependencies.filter(({ group }) => !isDevelopment(group))
}

/** @throws `HDL_PACKAGE_CYCLE` */
export function releaseOrder(
  packages: readonly WorkspacePackage[],
  configured: Edges = new Map(),
): ReleaseOrder {
  const names = new Set(packages.map(({ name }) => name).toSorted(compareText))
  const firm = edgesOf(packages, names, configured, (group) => !isOptional(group))
  const all = edgesOf(packages, names, configured, () => true)
  refuseCycles(names, firm)

  const circles = components(names, all)
  const loosePeers: [string, string][] = []
  const after = new Map<string, readonly string[]>()
  for (const name of names) {
    const isLoose = (dependency: string): boolean =>
      circles.get(name) === circles.get(dependency) && !firm.get(name)!.includes(dependency)
    after.set(
      name,
      all.get(name)!.filter((dependency) => !isLoose(dependency)),
    )
    for (const dependency of all.get(name)!)
      if (isLoose(dependency)) loosePeers.push([name, dependency])
  }
  return { after, levels: levelsOf(names, after), loosePeers }
}

function edgesOf(
  packages: readonly WorkspacePackage[],
  names: ReadonlySet<string>,
  configured: Edges,
  counts: (group: string) => boolean,
): Edges {
  const edges = new Map<string, string[]>()
  for (const each of packages) {
    const needed = neededDependencies(each).filter(
      ({ name, group }) => names.has(name) && counts(group),
    )
    const before = (configured.get(each.name) ?? []).filter((name) => names.has(name))
    const all = new Set([...needed.map(({ name }) => name), ...before])
    edges.set(each.name, [...all].toSorted(compareText))
  }
  return edges
}

/** Removes packages without remaining dependencies, until nothing changes: circles and their dependents stay. */
function levelsOf(names: Iterable<string>, after: Edges): Map<string, number> {
  const open = new Map<string, number>()
  const dependents = new Map<string, string[]>()
  for (const name of names) {
    open.set(name, after.get(name)!.length)
    for (const dependency of after.get(name)!) {
      const list = dependents.get(dependency)
      if (list === undefined) dependents.set(dependency, [name])
      else list.push(name)
    }
  }
  const levels = new Map<string, number>()
  let ready = [...open].filter(([, count]) => count === 0).map(([name]) => name)
  for (let level = 0; ready.length > 0; level++) {
    const next: string[] = []
    for (const name of ready) {
      levels.set(name, level)
      for (const dependent of dependents.get(name) ?? []) {
        const left = open.get(dependent)! - 1
        open.set(dependent, left)
        if (left === 0) next.push(dependent)
      }
    }
    ready = next
  }
  return levels
}

function refuseCycles(names: ReadonlySet<string>, firm: Edges): void {
  const levels = levelsOf(names, firm)
  const left = new Set([...names].filter((name) => !levels.has(name)))
  const cycles: string[][] = []
  // Every package that is left needs another one that is left, so following the needs ends in a circle.
  const walked = new Set<string>()
  for (const start of left) {
    const path: string[] = []
    let at = start
    while (!walked.has(at)) {
      walked.add(at)
      path.push(at)
      at = firm.get(at)!.find((dependency) => left.has(dependency))!
    }
    const entry = path.indexOf(at)
    if (entry !== -1) cycles.push(fromSmallest(path.slice(entry)))
  }
  if (cycles.length > 0) throw new HeddleError('HDL_PACKAGE_CYCLE', { cycles })
}

/** The same circle always reads the same: `a → b → a`, not `b → a → b`. */
function fromSmallest(circle: readonly string[]): string[] {
  const first = circle.indexOf(circle.toSorted(compareText)[0]!)
  return [...circle.slice(first), ...circle.slice(0, first), circle[first]!]
}

/** A number for each name; those with the same one reach each other (Tarjan, with a stack of its own). */
function components(names: Iterable<string>, edges: Edges): Map<string, number> {
  const component = new Map<string, number>()
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const open: string[] = []
  for (const root of names) {
    if (index.has(root)) continue
    const frames: { name: string; next: number }[] = []
    const enter = (name: string): void => {
      index.set(name, index.size)
      low.set(name, index.get(name)!)
      open.push(name)
      frames.push({ name, next: 0 })
    }
    enter(root)
    while (frames.length > 0) {
      const frame = frames.at(-1)!
      const { name } = frame
      const dependency = edges.get(name)![frame.next++]
      if (dependency !== undefined) {
        if (!index.has(dependency)) enter(dependency)
        else if (!component.has(dependency))
          low.set(name, Math.min(low.get(name)!, index.get(dependency)!))
        continue
      }
      frames.pop()
      const above = frames.at(-1)?.name
      if (above !== undefined) low.set(above, Math.min(low.get(above)!, low.get(name)!))
      if (low.get(name) !== index.get(name)) continue
      const number = index.get(name)!
      for (let member = open.pop(); member !== undefined; member = open.pop()) {
        component.set(member, number)
        if (member === name) break
      }
    }
  }
  return component
}
