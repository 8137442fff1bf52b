/** From "this call holds the loop, and it is reached like this" to a finding. */
import type { UnnamedFinding } from '../baseline/fingerprint.ts'
import type { Fix, Level, SourceSpan, TraceStep } from '../finding.ts'
import type { FileUnit, FunctionUnit } from '../ir/program.ts'
import { calleeText, isServing } from './roots.ts'
import type { Route } from './roots.ts'
import type { BlockingRule } from './rules.ts'

export interface Blocking {
  readonly rule: BlockingRule
  readonly level: Level
  readonly unit: FunctionUnit
  /** The call, the pattern or the loop. */
  readonly start: number
  readonly end: number
  /** The name that people use: `fs.readFileSync()`, `/a+$/`. */
  readonly what: string
  /** One sentence, without the way it is reached. */
  readonly message: string
  readonly route: Route | undefined
  readonly evidence: readonly string[]
  /** Where it comes from, in the same file: the pattern that is used here. */
  readonly writtenAt?: { readonly start: number; readonly end: number }
  /** Shown as the sketch of the first repair. */
  readonly alternative?: string
}

function spanOf(file: FileUnit, start: number, end: number): SourceSpan {
  const from = file.parsed.lineAt(start)
  const to = file.parsed.lineAt(end)
  return {
    file: file.path,
    line: from.line,
    column: from.column,
    endLine: to.line,
    endColumn: to.column,
  }
}

export function makeFinding(found: Blocking): UnnamedFinding {
  const { unit, rule, route } = found
  const span = spanOf(unit.file, found.start, found.end)
  const { writtenAt } = found
  const checkSpan =
    writtenAt === undefined ? span : spanOf(unit.file, writtenAt.start, writtenAt.end)
  const trace = traceOf(found, span)
  const at = trace.length - 1
  return {
    rule: rule.id,
    class: 'blocking',
    level: found.level,
    message: `${found.message}${reachText(route)}.`,
    file: unit.file.path,
    function: unit.namedAs,
    line: span.line,
    check: checkSpan.line,
    act: span.line,
    checkSpan,
    actSpan: span,
    shared: [],
    checkpoints: [],
    trace,
    window: [at, at],
    evidence: [...(route === undefined ? [] : [route.why]), ...found.evidence],
    fixes: rule.repairs.map((repair): Fix => ({
      ...repair,
      sketch: repair.sketch === '' ? (found.alternative ?? rule.name) : repair.sketch,
      closes: [at, at],
    })),
    key: found.what,
  }
}

/** The path from the root to the call, and what waits meanwhile. */
function traceOf({ unit, what, rule, route }: Blocking, span: SourceSpan): readonly TraceStep[] {
  const steps: TraceStep[] = []
  const root = route?.root ?? unit
  steps.push({
    task: 'A',
    text: route === undefined ? `${root.name} runs` : `${root.name} runs: ${route.why}`,
    span: spanOf(root.file, root.start, Math.min(root.end, root.start + 1)),
  })
  for (const site of route?.calls ?? []) {
    steps.push({
      task: 'A',
      text: `${site.owner.name} calls ${calleeText(site)}`,
      span: spanOf(site.owner.file, site.start, site.end),
    })
  }
  steps.push({ task: 'A', text: `${what} holds the loop: it waits for ${rule.waitsFor}`, span })
  steps.push({
    task: 'B',
    text: 'timers, sockets and other requests wait until it returns',
    span,
  })
  return steps
}

function reachText(route: Route | undefined): string {
  if (route === undefined) return ''
  const by = route.calls.length === 0 ? '' : `, by way of ${route.root.name}`
  switch (route.kind) {
    case 'request':
      return ` on the path of a request${by}`
    case 'job':
      return ` in a job that runs on the loop${by}`
    case 'timer':
      return ` whenever a timer fires${by}`
    case 'event':
      return ` at an event${by}`
    case 'exported-async':
      return `, though its callers wait for ${route.root.name} without blocking`
    case 'exported':
      return ` when ${route.root.name} is called`
    case 'command':
      return ' in a command'
    case 'start-up':
      return ' at start-up'
    case 'process-end':
      return ' as the process ends'
  }
}

/** The level of a call whose cost does not depend on its input: it depends on what waits. */
export function levelByReach(route: Route | undefined): Level {
  if (route === undefined) return 'note'
  return isServing(route.kind) ? 'warning' : 'note'
}
