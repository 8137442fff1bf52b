/**
 * The packages that a package takes along in its archive (`bundleDependencies`), with everything
 * they need themselves.
 *
 * npm-packlist reads a tree of nodes. npm makes that tree from all of node_modules; here only
 * bundled packages are searched, in the way Node itself looks for packages. That also finds packages that a
 * workspace installs once for all its packages, above the package: npm leaves those out without a
 * word. In the archive they are where an install would have put them.
 */
import { readFile, realpath } from 'node:fs/promises'
import path from 'node:path'
import { HeddleError } from '@heddle/core'
import { bundledNames } from '../manifest/bundled-names.ts'
import { isFields, type Fields } from '../manifest/local-range.ts'
import { parseJsonManifest } from '../manifest/manifest-text.ts'
import type { PackNode } from 'npm-packlist'

export interface BundledPackage extends PackNode {
  /** Its folder inside the archive: `node_modules/a`; empty for the package itself. */
  readonly location: string
  /** Its folder without symbolic links. */
  readonly folder: string
  readonly edgesOut: Map<string, { peer: boolean; dev: boolean; to: BundledPackage | undefined }>
}

const names = (value: unknown): string[] => (isFields(value) ? Object.keys(value) : [])

/** Without `./`: programs are packed whatever is ignored, and are looked for by the text of their path. */
function plainPaths(bin: unknown): unknown {
  if (!isFields(bin)) return bin
  return Object.fromEntries(
    Object.entries(bin).map(([name, file]) => [
      name,
      typeof file === 'string' ? path.posix.join('/', file).slice(1) : file,
    ]),
  )
}

/** A manifest in the forms that npm-packlist expects. */
function forPacklist(manifest: Fields): Fields {
  const { bin, files, name } = manifest
  const own = typeof name === 'string' ? path.posix.basename(name) : ''
  return {
    ...manifest,
    bin: plainPaths(typeof bin === 'string' ? { [own]: bin } : bin),
    // Whatever else it is, npm takes it for nothing.
    files: Array.isArray(files) ? files.filter((file) => typeof file === 'string') : undefined,
    bundleDependencies: bundledNames(manifest),
  }
}

function makeNode(
  where: { path: string; folder: string; location: string },
  manifest: Fields,
): BundledPackage {
  const node = {
    ...where,
    package: forPacklist(manifest),
    isProjectRoot: where.location === '',
    isLink: where.path !== where.folder,
    target: undefined as unknown as BundledPackage,
    edgesOut: new Map(),
  }
  node.target = node
  return node
}

class Bundle {
  readonly root: BundledPackage
  readonly #byFolder = new Map<string, BundledPackage>()
  readonly #byLocation = new Map<string, BundledPackage>()
  readonly #name: string

  constructor(name: string, root: BundledPackage) {
    this.#name = name
    this.root = root
    this.#byFolder.set(root.folder, root)
  }

  get packages(): BundledPackage[] {
    return [...this.#byLocation.values()]
  }

  async collect(): Promise<void> {
    const queue = [this.root]
    for (let node = queue.shift(); node !== undefined; node = queue.shift()) {
      for (const [name, isOptional] of needs(node)) {
        const known = this.#byFolder.size
        const to = await this.#find(node, name, isOptional)
        node.edgesOut.set(name, { peer: false, dev: false, to })
        if (to !== undefined && this.#byFolder.size > known) queue.push(to)
      }
    }
  }

  async #find(
    from: BundledPackage,
    name: string,
    isOptional: boolean,
  ): Promise<BundledPackage | undefined> {
    for (let above = from.folder; ; above = path.dirname(above)) {
      const found = await this.#at(above, name)
      if (found !== undefined) return found
      if (above === path.dirname(above)) break
    }
    if (isOptional) return undefined
    this.#fail(`it bundles "${name}", which is not installed`)
  }

  async #at(above: string, name: string): Promise<BundledPackage | undefined> {
    const installed = path.join(above, 'node_modules', name)
    const text = await readFile(path.join(installed, 'package.json'), 'utf8').catch(() => undefined)
    if (text === undefined) return undefined
    const folder = await realpath(installed)
    const known = this.#byFolder.get(folder)
    if (known !== undefined) return known
    const parent = this.#byFolder.get(above) ?? this.root
    const location = path.posix.join(parent.location, 'node_modules', name)
    const other = this.#byLocation.get(location)
    if (other !== undefined) {
      this.#fail(`it bundles ${folder} and ${other.folder}, which have the same place`)
    }
    const manifest = parseJsonManifest(path.join(installed, 'package.json'), text)
    const node = makeNode({ path: installed, folder, location }, manifest)
    this.#byFolder.set(folder, node)
    this.#byLocation.set(location, node)
    return node
  }

  #fail(problem: string): never {
    throw new HeddleError('HDL_PACK_FAILED', { package: this.#name, problem })
  }
}

/** The dependencies that must be bundled for a package, and whether they may be missing. */
function needs(node: BundledPackage): [name: string, isOptional: boolean][] {
  const optional = names(node.package['optionalDependencies'])
  const needed = node.isProjectRoot
    ? (node.package['bundleDependencies'] as string[])
    : [...names(node.package['dependencies']), ...optional]
  return [...new Set(needed)].map((name) => [name, optional.includes(name)])
}

/** @throws `HDL_PACK_FAILED` when something that is bundled is not installed. */
export async function bundleOf(
  name: string,
  folder: string,
  manifest: Fields,
): Promise<{ root: BundledPackage; packages: readonly BundledPackage[] }> {
  const real = await realpath(folder)
  const root = makeNode({ path: real, folder: real, location: '' }, manifest)
  const bundle = new Bundle(name, root)
  await bundle.collect()
  return { root, packages: bundle.packages }
}
