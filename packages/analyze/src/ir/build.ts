/** Parsed files to a linked program. */
import path from 'node:path'
import type { Diagnostic } from '../analysis.ts'
import type { ParsedFile } from '../frontend/parse.ts'
import { link } from './link.ts'
import type { ResolveImport } from './link.ts'
import { LocationTable } from './locations.ts'
import { lowerFile } from './lower.ts'
import type { Counters, Lowered } from './lower.ts'
import type { Program } from './program.ts'

export interface BuildOptions {
  readonly root: string
  readonly files: readonly ParsedFile[]
  readonly resolve: ResolveImport
  /** Functions that run what they are given alone: `withTenantLock`. */
  readonly guards?: readonly string[] | undefined
  /** Of programs that will be joined to one: their numbers go on. */
  readonly counters?: Counters | undefined
}

export interface Built {
  readonly program: Program
  readonly diagnostics: readonly Diagnostic[]
}

/** Lowers every file and links them. Never throws for what is in a file. */
export function buildProgram(options: BuildOptions): Built {
  const table = new LocationTable()
  const { counters = { unit: 0, class: 0, file: 0 } } = options
  const guards = new Set(options.guards)
  const lowered: Lowered[] = []
  const diagnostics: Diagnostic[] = []
  for (const parsed of options.files) {
    const relative = path.relative(options.root, parsed.file).replaceAll('\\', '/')
    const one = lowerFile(parsed, relative, table, counters, guards)
    lowered.push(one)
    diagnostics.push(...one.diagnostics)
  }
  const program = link({ root: options.root, lowered, table, resolve: options.resolve })
  return { program, diagnostics }
}
