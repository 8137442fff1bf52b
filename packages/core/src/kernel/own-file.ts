/**
 * Where this package lies: as files of its own, or inside a bundle.
 *
 * In a bundle every module has the address of the bundle, and in a CommonJS bundle some bundlers leave `import.meta`
 * empty; there `__filename` says it.
 */
import { pathToFileURL } from 'node:url'

declare const __filename: string

const own: string = import.meta.url ?? pathToFileURL(__filename).href

/** The address of the bundle that this package is part of; undefined when it is not bundled. */
export const bundleUrl: string | undefined = isOwnLayout(own) ? undefined : own

/** Whether this is the address of this module among the other files of the package. */
export function isOwnLayout(url: string): boolean {
  return /\/kernel\/own-file\.[jt]s$/.test(url)
}

/**
 * The address of another file of this package, from its `src` or `dist` folder, without its extension. In a bundle it is an
 * address that no file has.
 */
export function addressInPackage(file: string): string {
  return bundleUrl === undefined ? new URL(`../${file}`, own).href : `bundled:${file}`
}

/** Sources start sources, built files start built files. */
export const extension: string = own.endsWith('.ts') ? '.ts' : '.js'
