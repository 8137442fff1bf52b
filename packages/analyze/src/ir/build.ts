/** Parsed files to a linked program. */
import path from 'node:path'
import type { Diagnostic } from '../analysis.ts'
import type { ParsedFile } from '../frontend/parse.ts'
import { KeptFile } from './kept-file.ts'
import { link } from './link-program.ts'
import type { ResolveImport } from './link-program.ts'
import { lowerFile } from './lower.ts'
import type { Lowered } from './lower.ts'
import type { LoweredFiles } from './lowered-files.ts'
import type { Program } from './program.ts'

export interface BuildOptions {
  readonly root: string
  readonly files: readonly ParsedFile[]
  readonly resolve: ResolveImport
  /** Functions that run their callback alone: `withTenantLock`. */
  readonly guards?: readonly string[] | undefined
  /** The number of the first unit. Programs that will be joined continue the numbers of the one before. Default 0. */
  readonly firstUnit?: number | undefined
  /** Files that were lowered before, with the same root and the same guards. */
  readonly known?: LoweredFiles | undefined
}

export interface Built {
  readonly program: Program
  readonly diagnostics: readonly Diagnostic[]
  /** Gives its files back for the next program. This program must not be used any more. */
  readonly giveBack: () => void
}

/** Lowers every file that is not known and links them. Never throws for the content of a file. */
export function buildProgram(options: BuildOptions): Built {
  const { root, files, resolve, firstUnit = 0, known } = options
  const guards = new Set(options.guards)
  const kept: KeptFile[] = []
  const lower = (parsed: ParsedFile): Lowered => {
    const relative = path.relative(root, parsed.file).replaceAll('\\', '/')
    const before = known?.take(parsed)
    const lowered = before?.lowered ?? lowerFile(parsed, relative, guards)
    if (known !== undefined) kept.push(before ?? new KeptFile(lowered))
    return lowered
  }
  const lowered = files.map(lower)
  return {
    program: link({ root, lowered, resolve, firstUnit }),
    diagnostics: lowered.flatMap((one) => one.diagnostics),
    giveBack: () => kept.forEach((one) => known?.giveBack(one)),
  }
}
