/** Small programs for tests of what looks at a whole program. */
import path from 'node:path'
import { parseSource } from '../../src/frontend/parse.ts'
import { buildProgram } from '../../src/ir/build.ts'
import type { Program } from '../../src/ir/program.ts'

const root = '/project'

export function programOf(files: Readonly<Record<string, string>>): Program {
  const parsed = Object.entries(files).map(([name, text]) =>
    parseSource(path.posix.join(root, name), text),
  )
  const names = new Set(parsed.map(({ file }) => file))
  return buildProgram({
    root,
    files: parsed,
    resolve: (from, specifier) => {
      const target = path.posix.resolve(path.posix.dirname(from), specifier)
      return specifier.startsWith('.') && names.has(target) ? target : undefined
    },
  }).program
}
