import { createRequire } from 'node:module'
import path from 'node:path'
import { readJsonObject } from '../resolve/read-json.ts'
import type { NativeModule } from './native-api.ts'

/** A compiler that is installed. */
export interface FoundCompiler {
  readonly version: string
  /** Where its package is. */
  readonly folder: string
  readonly kind: 'typescript-7' | 'typescript-6'
  /** The module with its interface. */
  load(): unknown
}

/**
 * The compilers that can be used, best first: that of the analysed code, because it understands its
 * tsconfig, then ours.
 */
export function findCompilers(
  root: string,
  names: readonly string[] = ['typescript'],
): readonly FoundCompiler[] {
  const found = [path.join(root, 'package.json'), import.meta.url].flatMap((from) =>
    names.flatMap((name) => findFrom(from, name) ?? []),
  )
  const folders = new Set<string>()
  return found.filter(({ folder }) => !folders.has(folder) && folders.add(folder))
}

function findFrom(from: string, name: string): FoundCompiler | undefined {
  const require = createRequire(from)
  const manifest = tryResolve(require, `${name}/package.json`)
  const json = manifest === undefined ? undefined : readJsonObject(manifest)
  const version = json?.['version']
  if (manifest === undefined || typeof version !== 'string') return undefined
  const folder = path.dirname(manifest)
  const major = Number.parseInt(version, 10)
  if (major === 5 || major === 6) {
    return { version, folder, kind: 'typescript-6', load: () => require(name) }
  }
  const entry = [`${name}/sync`, `${name}/unstable/sync`].find(
    (candidate) => tryResolve(require, candidate) !== undefined,
  )
  if (major < 7 || entry === undefined) return undefined
  return {
    version,
    folder,
    kind: 'typescript-7',
    load: (): NativeModule => require(entry) as NativeModule,
  }
}

function tryResolve(require: NodeJS.Require, name: string): string | undefined {
  try {
    return require.resolve(name)
  } catch {
    return undefined
  }
}
