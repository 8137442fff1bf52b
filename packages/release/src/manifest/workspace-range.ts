/**
 * Ranges of `workspace:`, and the version that they stand for. pnpm takes them also as one of several parts.
 *
 * | written                             | spec     | name | folder |
 * |-------------------------------------|----------|------|--------|
 * | `workspace:^`, `workspace:^1.0.0`   | `^`, `^1.0.0` |  |      |
 * | `workspace:p@^`, `npm:p@workspace:^`| `^`      | `p`  |        |
 * | `workspace:../p`, `workspace:packages/p` | `*` |      | `../p`, `packages/p` |
 */

const protocol = 'workspace:'

export interface WorkspaceRange {
  /** `^`, `*` or a range; an empty one is written `*`. */
  readonly spec: string
  /** The package, where it is not called as the dependency is. */
  readonly name?: string
  /** Where the package is: relative to the dependent, or as Yarn writes it to the workspace. */
  readonly folder?: string
}

const outerName = /^npm:(?<name>(?:@[^/@]+\/)?[^/@]+)@workspace:/
const innerName = /^(?<name>(?:@[^/@]+\/)?[^/@]+)@(?<spec>.*)$/

/** Undefined for any other range. One of several parts is not read: see {@link hasWorkspacePart}. */
export function readWorkspaceRange(range: string): WorkspaceRange | undefined {
  const outer = outerName.exec(range)
  if (outer !== null) {
    return { spec: range.slice(outer[0].length).trim() || '*', name: outer.groups!['name']! }
  }
  if (!range.startsWith(protocol)) return undefined
  const written = range.slice(protocol.length).trim()
  const inner = written.startsWith('.') ? undefined : innerName.exec(written)?.groups
  if (inner !== undefined) return { spec: inner['spec'] || '*', name: inner['name']! }
  const isFolder = written.startsWith('.') || written.includes('/')
  return isFolder ? { spec: '*', folder: written } : { spec: written || '*' }
}

/** Whether a manifest asks for the package of the workspace, whatever its version is. */
export function isWorkspaceRange(range: string): boolean {
  return readWorkspaceRange(range) !== undefined
}

/** `^2.0.0` → `workspace:^2.0.0`. */
export function asWorkspaceRange(spec: string): string {
  return `${protocol}${spec}`
}

/** `^0.9.0 || workspace:^`: whether one of several parts is a range of the workspace. */
export function hasWorkspacePart(range: string): boolean {
  return range.includes('||') && range.split('||').some((part) => isWorkspaceRange(part.trim()))
}

/** What `*`, `^`, `~`, `>=` or `<=` without a number stands for. Undefined for any other range. */
export function rangeOfVersion(spec: string, version: string): string | undefined {
  if (spec === '*') return version
  return /^(?:[\^~]|[<>]=)$/.test(spec) ? `${spec}${version}` : undefined
}

/** `^0.9.0 || workspace:^` → `^0.9.0 || ^1.2.3`. */
export function withVersion(range: string, version: string): string {
  const parts = range.split('||').map((part) => {
    const written = part.trim()
    const { spec, name, folder } = readWorkspaceRange(written) ?? {}
    // One that leads elsewhere says nothing of this package.
    if (spec === undefined || name !== undefined || folder !== undefined) return written
    return rangeOfVersion(spec, version) ?? spec
  })
  return parts.join(' || ')
}
