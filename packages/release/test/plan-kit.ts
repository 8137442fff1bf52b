/** Small plans for tests: in memory, or with their files in a folder of their own. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parse } from 'smol-toml'
import type { PlannedPackage, ReleasePlan, Workspace, WorkspacePackage } from '../src/model.ts'

export interface PackageSketch {
  readonly manifest: Readonly<Record<string, unknown>>
  /** `packages/<name without scope>` when absent. */
  readonly folder?: string
  readonly manifestName?: 'package.json' | 'pyproject.toml'
  /** The planned version, when it is not the one of the manifest. */
  readonly becomes?: string
}

export type Catalogs = Readonly<Record<string, Readonly<Record<string, string>>>>

function workspacePackage(root: string, sketch: PackageSketch): WorkspacePackage {
  const { manifest, manifestName = 'package.json' } = sketch
  const isPython = manifestName === 'pyproject.toml'
  const fields = (isPython ? manifest['project'] : manifest) as Record<string, unknown>
  const name = String(fields['name'])
  const folder = path.join(root, sketch.folder ?? `packages/${path.basename(name)}`)
  return {
    name,
    version: String(fields['version']),
    ecosystem: isPython ? 'python' : 'npm',
    folder,
    manifestFile: path.join(folder, manifestName),
    manifest,
    isPrivate: manifest['private'] === true,
    dependencies: [],
  }
}

export function planOf(
  root: string,
  sketches: readonly PackageSketch[],
  catalogs: Catalogs = {},
): ReleasePlan {
  const packages = new Map<string, WorkspacePackage>()
  const all = new Map<string, PlannedPackage>()
  for (const sketch of sketches) {
    const found = workspacePackage(root, sketch)
    packages.set(found.name, found)
    all.set(found.name, {
      package: found,
      version: sketch.becomes ?? found.version,
      status: found.isPrivate ? 'private' : 'included',
      reason: 'for the test',
      after: [],
      level: 0,
      distTag: 'latest',
    })
  }
  const workspace: Workspace = {
    root,
    tool: 'pnpm',
    packages,
    catalogs: new Map(
      Object.entries(catalogs).map(([name, entries]) => [name, new Map(Object.entries(entries))]),
    ),
  }
  return { workspace, source: 'manifests', packages: all }
}

/** A folder of its own for one test. */
export class Tree implements Disposable {
  readonly path = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'heddle-release-')))

  at(...names: string[]): string {
    return path.join(this.path, ...names)
  }

  write(name: string, content: string | Uint8Array, mode?: number): string {
    const file = this.at(name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, content)
    if (mode !== undefined) fs.chmodSync(file, mode)
    return file
  }

  writeJson(name: string, value: unknown): string {
    return this.write(name, `${JSON.stringify(value, undefined, 2)}\n`)
  }

  /** Files and links below it, by name. */
  names(): string[] {
    return fs
      .readdirSync(this.path, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => path.relative(this.path, path.join(entry.parentPath, entry.name)))
      .sort()
  }

  [Symbol.dispose](): void {
    fs.rmSync(this.path, { recursive: true, force: true })
  }
}

/** The plan of what lies in a folder: every manifest below `packages/`. */
export function planFromDisk(
  tree: Tree,
  becomes: Readonly<Record<string, string>> = {},
  catalogs: Catalogs = {},
): ReleasePlan {
  const sketches: PackageSketch[] = []
  for (const name of fs.readdirSync(tree.at('packages')).sort()) {
    for (const manifestName of ['package.json', 'pyproject.toml'] as const) {
      const file = tree.at('packages', name, manifestName)
      if (!fs.existsSync(file)) continue
      const text = fs.readFileSync(file, 'utf8').replace(/^\ufeff/, '')
      const isPython = manifestName === 'pyproject.toml'
      const manifest = (isPython ? parse(text) : JSON.parse(text)) as Record<string, unknown>
      const fields = (isPython ? manifest['project'] : manifest) as Record<string, unknown>
      const version = becomes[String(fields['name'])]
      sketches.push({
        manifest,
        manifestName,
        folder: `packages/${name}`,
        ...(version === undefined ? {} : { becomes: version }),
      })
    }
  }
  return planOf(tree.path, sketches, catalogs)
}

export function planned(plan: ReleasePlan, name: string): PlannedPackage {
  const found = plan.packages.get(name)
  if (found === undefined) throw new Error(`the plan has no ${name}`)
  return found
}
