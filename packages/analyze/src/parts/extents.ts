import type { UnnamedFinding } from '../baseline/fingerprint.ts'
import type { LineRange } from '../frontend/targets/git-changes.ts'
import type { FileUnit } from '../ir/program.ts'

type FindingPlace = Pick<UnnamedFinding, 'file' | 'line' | 'function'>

/**
 * The lines of the functions that findings are in. A bundle has tens of thousands of functions and
 * hundreds of findings, so those of a file are looked through once for all of its findings.
 */
export class Extents {
  /** Keyed by file, then by name of function: for the names in findings. */
  readonly #ranges = new Map<string, Map<string, LineRange[]>>()

  constructor(files: readonly FileUnit[], findings: readonly FindingPlace[]) {
    for (const { file, function: name } of findings) {
      let names = this.#ranges.get(file)
      if (names === undefined) this.#ranges.set(file, (names = new Map<string, LineRange[]>()))
      if (!names.has(name)) names.set(name, [])
    }
    for (const file of files) {
      const names = this.#ranges.get(file.path)
      if (names !== undefined) addRanges(file, names)
    }
  }

  /** The lines of the innermost function of that name around the finding. */
  of({ file, line, function: name }: FindingPlace): LineRange | undefined {
    let best: LineRange | undefined
    for (const range of this.#ranges.get(file)?.get(name) ?? []) {
      const [from, to] = range
      if (line < from || line > to) continue
      if (best === undefined || to - from < best[1] - best[0]) best = range
    }
    return best
  }
}

function addRanges({ units, parsed }: FileUnit, names: ReadonlyMap<string, LineRange[]>): void {
  for (const { name, namedAs, start, end } of units) {
    const named = names.get(name)
    const namedAlike = name === namedAs ? undefined : names.get(namedAs)
    if (named === undefined && namedAlike === undefined) continue
    const range: LineRange = [parsed.lineAt(start).line, parsed.lineAt(end).line]
    named?.push(range)
    namedAlike?.push(range)
  }
}
