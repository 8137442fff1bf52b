/** Linked programs from texts, without a disk. */
import path from 'node:path'
import { parseSource } from '../../src/frontend/parse.ts'
import { buildProgram } from '../../src/ir/build.ts'
import type { FunctionUnit, Program } from '../../src/ir/program.ts'

/** Files by name; imports are found by their path, with or without an extension. */
export function programOf(files: Readonly<Record<string, string>>): Program {
  const parsed = Object.entries(files).map(([name, text]) => parseSource(`/program/${name}`, text))
  const known = new Set(parsed.map((one) => one.file))
  const { program } = buildProgram({
    root: '/program',
    files: parsed,
    resolve(from, specifier) {
      const base = path.posix.resolve(path.posix.dirname(from), specifier)
      return [base, `${base}.ts`, `${base}.js`].find((candidate) => known.has(candidate))
    },
  })
  return program
}

export function unitNamed(program: Program, name: string): FunctionUnit {
  const unit = program.units.find((one) => one.name === name)
  if (unit === undefined)
    throw new Error(`no ${name} among ${program.units.map((one) => one.name).join(', ')}`)
  return unit
}
