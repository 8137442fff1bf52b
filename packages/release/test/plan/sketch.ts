/** Workspaces in memory, for planners that read no files. */
import path from 'node:path'
import type { Ecosystem, InternalDependency, Workspace, WorkspacePackage } from '../../src/model.ts'

export interface Sketch {
  readonly version?: string
  readonly ecosystem?: Ecosystem
  readonly private?: boolean
  readonly folder?: string
  /** Ranges by name; `dev:`, `peer:` and `optional:` before the name choose the group. */
  readonly needs?: Readonly<Record<string, string>>
  readonly manifest?: Readonly<Record<string, unknown>>
}

const groups: Readonly<Record<string, string>> = {
  dev: 'devDependencies',
  peer: 'peerDependencies',
  optional: 'optionalDependencies',
}

export const root: string = path.resolve('/workspace')

export function sketchWorkspace(
  sketches: Readonly<Record<string, Sketch>>,
  more: Partial<Workspace> = {},
): Workspace {
  const packages = new Map<string, WorkspacePackage>()
  for (const name of Object.keys(sketches).toSorted())
    packages.set(name, sketchPackage(name, sketches[name]!))
  return { root, tool: 'npm', packages, catalogs: new Map(), ...more }
}

function sketchPackage(name: string, sketch: Sketch): WorkspacePackage {
  const { version = '1.0.0', ecosystem = 'npm', needs = {}, manifest = {} } = sketch
  const main = ecosystem === 'npm' ? 'dependencies' : 'project.dependencies'
  const folder = path.join(root, sketch.folder ?? `packages/${name.replace(/^@.*\//, '')}`)
  const dependencies = Object.entries(needs).map(([key, range]): InternalDependency => {
    const [, group, target] = /^(?:(dev|peer|optional):)?(.+)$/.exec(key)!
    return { name: target!, group: groups[group ?? ''] ?? main, range }
  })
  return {
    name,
    version,
    ecosystem,
    folder,
    manifestFile: path.join(folder, ecosystem === 'npm' ? 'package.json' : 'pyproject.toml'),
    manifest: { name, version, ...(sketch.private === true ? { private: true } : {}), ...manifest },
    isPrivate: sketch.private ?? false,
    dependencies,
  }
}
