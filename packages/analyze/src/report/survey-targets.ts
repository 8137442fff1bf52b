import { parseTarget } from '../frontend/targets/parse-target.ts'
import { isPartOf } from '../frontend/targets/wanted.ts'
import type { FunctionUnit, Program } from '../ir/program.ts'
import { survey, type Survey } from './survey.ts'

/** A survey for each target that is a part of a file. Whole files and folders would be books. */
export function surveyTargets(targets: readonly string[], program: Program): Survey[] {
  const paths = new Set(program.files.map(({ path }) => path))
  const plain = (file: string): string => file.replaceAll('\\', '/').replace(/^(?:\.\/)+/, '')
  return targets.flatMap((target) => {
    const spec = parseTarget(target, (file) => paths.has(plain(file)))
    if (spec.kind !== 'function' && spec.kind !== 'lines') return []
    const file = plain(spec.path)
    const isWanted = (unit: FunctionUnit): boolean => {
      if (unit.file.path !== file || unit.kind === 'module') return false
      if (spec.kind === 'function') return isPartOf(unit.name, spec.name)
      // The initialisers of a class are all over it, and no other task is there yet.
      if (unit.name.endsWith('<fields>')) return false
      const { parsed } = unit.file
      const from = parsed.lineAt(unit.start).line
      return from <= spec.to && parsed.lineAt(unit.end).line >= spec.from
    }
    return [survey(program, { target: plain(target), file }, isWanted)]
  })
}
