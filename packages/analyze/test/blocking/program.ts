/** Small programs for tests of code that reads a whole program. */
import path from 'node:path'
import { parseSource } from '../../src/frontend/parse.ts'
import { buildProgram } from '../../src/ir/build.ts'
import type { Program } from '../../src/ir/program.ts'

const root = '/project'

/** `x` means `x/index.ts` where there is one. */
export function programOf(files: Readonly<Record<string, string>>): Program {
  const parsed = Object.entries(files).map(([name, text]) =>
    parseSource(path.posix.join(root, name), text),
  )
  const names = new Set(parsed.map(({ file }) => file))
  return buildProgram({
    root,
    files: parsed,
    resolve: (from, specifier) => {
      const target = specifier.startsWith('.')
        ? path.posix.resolve(path.posix.dirname(from), specifier)
        : path.posix.join(root, specifier, 'index.ts')
      return names.has(target) ? target : undefined
    },
  }).program
}
