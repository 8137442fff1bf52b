/**
 * One defect in several builds of the same source: `dist/cjs` and `dist/esm`, or `src` beside `dist`.
 *
 * It is repaired once, so it is reported once. The others become notes that say where the first one is.
 * They are the same when the rule, the function, the whole message and the distance between check and act
 * are: messages name functions, locations and calls.
 */
import type { Finding } from '../finding.ts'
import { pushTo } from '../rules/host.ts'

/** @param findings In the order of the report, which stays. */
export function noteRepeatedBuilds(findings: readonly Finding[]): Finding[] {
  const byCause = new Map<string, Finding[]>()
  for (const finding of findings)
    if (finding.level !== 'note') pushTo(byCause, causeOf(finding), finding)
  return findings.map((finding) => {
    const same = finding.level === 'note' ? undefined : byCause.get(causeOf(finding))
    const first = same && sourceOf(same)
    if (first === undefined || first.file === finding.file) return finding
    return {
      ...finding,
      level: 'note',
      builtFrom: first.checkSpan,
      evidence: [
        ...finding.evidence,
        `the same code is reported at ${first.file}:${first.line}, of which this is another build`,
      ],
    }
  })
}

/** `(0, module_1.call)(…)` is how compilers write `call(…)`. */
function causeOf({ rule, function: name, message, act, check }: Finding): string {
  const said = message.replace(/\(0, ?[\w$]+\.([\w$]+)\)/g, '$1')
  return JSON.stringify([rule, name, said, act - check])
}

/** What people edit, where it is there: TypeScript rather than JavaScript, then the first. */
function sourceOf(same: readonly Finding[]): Finding {
  return same.find(({ file }) => /\.[cm]?tsx?$/.test(file)) ?? same[0]!
}
