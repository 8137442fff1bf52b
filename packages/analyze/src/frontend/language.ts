import type { ParserOptions } from 'oxc-parser'

/** How a text can be read. */
export interface Reading {
  readonly lang: NonNullable<ParserOptions['lang']>
  readonly sourceType: NonNullable<ParserOptions['sourceType']>
}

const sourceExtension = /\.(?:[cm]?[jt]s|[jt]sx)$/
const declaration = /\.d\.(?:[cm]?ts|[^./\\]+\.ts)$/

/** Files that hold code to analyse; declarations (`.d.ts`) hold none. */
export function isSourceFile(file: string): boolean {
  return sourceExtension.test(file) && !declaration.test(file)
}

export function isTypeScript(file: string): boolean {
  return /\.(?:[cm]?ts|tsx)$/.test(file)
}

/**
 * The readings to try, most likely first; the one with the fewest errors is taken.
 *
 * JavaScript is read with JSX, which no other JavaScript can be mistaken for. A script may return at
 * its top or use names that modules reserve. Other files have types in them: most of Flow parses as
 * TypeScript.
 */
export function readingsOf(file: string): readonly [Reading, ...Reading[]] {
  if (file.endsWith('.tsx')) return [{ lang: 'tsx', sourceType: 'module' }]
  if (file.endsWith('.cts')) return [{ lang: 'ts', sourceType: 'commonjs' }, typescriptModule]
  if (isTypeScript(file)) return [typescriptModule, { lang: 'ts', sourceType: 'commonjs' }]
  const script: Reading = { lang: 'jsx', sourceType: 'commonjs' }
  const module: Reading = { lang: 'jsx', sourceType: 'module' }
  const typed: Reading = { lang: 'tsx', sourceType: 'module' }
  if (file.endsWith('.cjs')) return [script, module, typed]
  if (file.endsWith('.mjs')) return [module, script, typed]
  return [{ lang: 'jsx', sourceType: 'unambiguous' }, script, module, typed]
}

const typescriptModule: Reading = { lang: 'ts', sourceType: 'module' }
