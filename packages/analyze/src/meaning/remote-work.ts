/**
 * Work outside of the process that is not the same when it is done twice.
 *
 * A request says so by its method: `POST`, `PUT`, `PATCH` and `DELETE` change something where they
 * arrive, `GET` does not. The text of a method is a literal, so no name of the program decides.
 */
import type { CallSite, FunctionUnit } from '../ir/program.ts'

const changingLiteral = /['"`](?:POST|PUT|PATCH|DELETE)\b/
const changingVerbs = new Set(['post', 'put', 'patch'])
const maxDepth = 4

export class RemoteWork {
  readonly #known = new Map<FunctionUnit, boolean>()

  /** Whether a call leads to a request that changes something. */
  changesSomething(site: CallSite, depth = 0): boolean {
    const { parsed } = site.owner.file
    if (site.targets.length === 0)
      return (
        (changingVerbs.has(site.name) && site.callee.kind !== 'unknown') ||
        changingLiteral.test(parsed.text.slice(site.start, Math.min(site.end, site.start + 600)))
      )
    return site.targets.some((target) => this.#inUnit(target, depth + 1))
  }

  #inUnit(unit: FunctionUnit, depth: number): boolean {
    if (depth > maxDepth) return false
    const known = this.#known.get(unit)
    if (known !== undefined) return known
    this.#known.set(unit, false)
    const { text } = unit.file.parsed
    const isShort = unit.end - unit.start < 20_000
    const answer =
      (isShort && changingLiteral.test(text.slice(unit.start, unit.end))) ||
      unit.calls.some((site) => this.changesSomething(site, depth))
    this.#known.set(unit, answer)
    return answer
  }
}
