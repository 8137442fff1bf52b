/** Joins the findings of the parts into one analysis: the same, in whatever order they were done. */
import path from 'node:path'
import type { Analysis, Diagnostic } from '../analysis.ts'
import { withFingerprints } from '../baseline/fingerprint.ts'
import type { UnnamedFinding } from '../baseline/fingerprint.ts'
import { toSlashes } from '../frontend/discover.ts'
import type { LineRange } from '../frontend/targets/git-changes.ts'
import type { Program } from '../ir/program.ts'
import { SourceLines } from '../report/source-lines.ts'
import type { PartResult } from './part-result.ts'
import { PackageFolders } from './parts.ts'
import { noteRepeatedBuilds } from './repeated-builds.ts'

type Joined = Pick<Analysis, 'findings' | 'diagnostics' | 'files' | 'extentOf'> & {
  readonly program?: Program
}

/**
 * @param results In the order of the parts.
 * @param textOf By absolute path.
 */
export function joinParts(
  results: readonly PartResult[],
  root: string,
  textOf: (file: string) => string | undefined,
): Joined {
  const files = results
    .flatMap((one) => one.files)
    .map((file) => ({ path: toSlashes(path.relative(root, file)), text: textOf(file) ?? '' }))
    .sort((a, b) => compare(a.path, b.path))
  const texts = new Map(files.map((file) => [file.path, file.text]))
  const found = results.flatMap((one) => one.findings)
  const findings = found.map(({ finding }) => finding).sort(byPlace)
  const extents = new Map<string, LineRange | undefined>()
  for (const { finding, extent } of found) extents.set(placeOf(finding), extent)
  const read = (file: string): string | undefined => texts.get(file)
  const lines = new SourceLines(read)
  const packages = new PackageFolders()
  const programs = results.flatMap((one) => one.program ?? [])
  return {
    findings: noteRepeatedBuilds(withFingerprints(findings, read), {
      packageOf: ({ file }) => packages.of(path.resolve(root, file)),
      functionTextOf(finding) {
        const [from, to] = extents.get(placeOf(finding)) ?? [1, 0]
        return lines.of(finding.file)?.lines(from, to)
      },
    }),
    diagnostics: results.flatMap((one) => one.diagnostics).sort(byFile),
    files,
    extentOf: (finding) => extents.get(placeOf(finding)),
    ...(programs.length === results.length && { program: joinPrograms(programs, root) }),
  }
}

function joinPrograms(programs: readonly Program[], root: string): Program {
  return {
    root,
    files: programs.flatMap((one) => one.files),
    units: programs.flatMap((one) => one.units),
    classes: programs.flatMap((one) => one.classes),
    locations: programs.flatMap((one) => one.locations),
  }
}

function placeOf({ file, line, function: name }: Omit<UnnamedFinding, 'fingerprint'>): string {
  return `${line} ${name} ${file}`
}

function byPlace(a: UnnamedFinding, b: UnnamedFinding): number {
  return compare(a.file, b.file) || a.line - b.line || compare(a.rule, b.rule)
}

/** Diagnostics of the whole program come last. */
function byFile(a: Diagnostic, b: Diagnostic): number {
  if (a.file === undefined || b.file === undefined)
    return Number(a.file === undefined) - Number(b.file === undefined)
  return compare(a.file, b.file)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
