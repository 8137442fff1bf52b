/**
 * From a rule's finding to a structured report.
 *
 * A rule gives the steps; this adds the rest from the program: the other readers and
 * writers of the location, the checkpoints in the window, the order that the explorer would have to force.
 */
import type { UnnamedFinding } from '../baseline/fingerprint.ts'
import type {
  Checkpoint,
  FindingClass,
  Fix,
  Level,
  SharedAccess,
  SharedState,
  SourceSpan,
  TraceStep,
} from '../finding.ts'
import type { Access } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { FileUnit, FunctionUnit, Suspension } from '../ir/program.ts'
import type { SharedAccesses } from './shared-accesses.ts'

/** Something with a place in the source. */
export interface Place {
  readonly owner: FunctionUnit
  readonly start: number
  readonly end: number
}

export interface Step {
  readonly task: 'A' | 'B'
  readonly text: string
  readonly at: Place
  readonly isCheckpoint?: boolean
}

export interface Draft {
  readonly rule: string
  readonly class: FindingClass
  readonly level: Level
  readonly message: string
  readonly locations: readonly Location[]
  readonly check: Place
  readonly act: Place
  readonly suspensions: readonly Suspension[]
  readonly conflict?: Place | undefined
  readonly steps: readonly Step[]
  /** Indexes into `steps`, from 0: where the state is inconsistent. */
  readonly window: readonly [first: number, last: number]
  readonly evidence: readonly string[]
  readonly fixes: readonly Fix[]
  readonly guard?: string | undefined
  /** The function it is reported under, when it is not that of the check. */
  readonly reportIn?: FunctionUnit
}

export function spanOf(place: Place): SourceSpan {
  return spanIn(place.owner.file, place.start, place.end)
}

function spanIn(file: FileUnit, start: number, end: number): SourceSpan {
  const from = file.parsed.lineAt(start)
  const to = file.parsed.lineAt(Math.max(start, end))
  return {
    file: file.path,
    line: from.line,
    column: from.column,
    endLine: to.line,
    endColumn: to.column,
  }
}

/** The source of a place, on one line and short enough for a sentence. */
export function textOf(place: Place, limit = 60): string {
  const text = place.owner.file.parsed.text.slice(
    place.start,
    Math.min(place.end, place.start + 200),
  )
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line
}

const maxRows = 8
const maxCheckpoints = 6

export function toFinding(draft: Draft, accesses: SharedAccesses): UnnamedFinding {
  const unit = draft.reportIn ?? draft.check.owner
  const checkSpan = spanOf(draft.check)
  const actSpan = spanOf(draft.act)
  const suspension = draft.suspensions[0]
  const isCheckHere =
    draft.check.owner.file === unit.file && draft.check.owner.namedAs === unit.namedAs
  const trace = draft.steps.map((step): TraceStep => ({
    task: step.task,
    text: step.text,
    span: spanOf(step.at),
    ...(step.isCheckpoint === true && { isCheckpoint: true }),
  }))
  const firstOfB = draft.steps.findLast((step) => step.task === 'B')
  return {
    rule: draft.rule,
    class: draft.class,
    level: draft.level,
    message: draft.message,
    file: unit.file.path,
    function: unit.namedAs,
    line: isCheckHere ? checkSpan.line : actSpan.line,
    check: checkSpan.line,
    act: actSpan.line,
    checkSpan,
    actSpan,
    ...(suspension !== undefined && { suspension: spanOf(suspension) }),
    ...(draft.conflict !== undefined && { conflict: spanOf(draft.conflict) }),
    shared: draft.locations.map((location) =>
      sharedState(location, accesses.of(location), draft.guard),
    ),
    checkpoints: draft.suspensions
      .slice(0, maxCheckpoints)
      .map((one) => checkpoint(one, draft.locations)),
    trace,
    window: [draft.window[0] + 1, draft.window[1] + 1],
    evidence: draft.evidence,
    fixes: draft.fixes,
    ...(suspension !== undefined &&
      firstOfB !== undefined && {
        schedule: { hold: spanOf(suspension), until: spanOf(draft.conflict ?? firstOfB.at) },
      }),
    key: draft.locations.map((location) => location.name).join(' ') || draft.rule,
  }
}

function checkpoint(suspension: Suspension, locations: readonly Location[]): Checkpoint {
  const names = locations.map((location) => location.name).join(' and ')
  const what =
    suspension.kind === 'continuation'
      ? 'the callback runs later'
      : suspension.kind === 'call'
        ? 'the caller continues when the callee has finished'
        : 'other tasks run here'
  return {
    span: spanOf(suspension),
    kind: suspension.kind,
    note: names === '' ? what : `${what}; ${names} may have changed`,
  }
}

const scopes = {
  module: 'module',
  instance: 'instance',
  closure: 'closure',
  parameter: 'instance',
  entry: 'entry',
  external: 'external',
} as const

function sharedState(
  location: Location,
  accesses: readonly Access[],
  guard: string | undefined,
): SharedState {
  const writers = new Map<string, SharedAccess>()
  const readers = new Map<string, SharedAccess>()
  for (const access of accesses) {
    const rows = access.op === 'write' ? writers : readers
    const key = access.owner.namedAs
    if (rows.size >= maxRows || rows.has(key)) continue
    rows.set(key, {
      function: access.owner.namedAs,
      kind: access.op,
      span: spanOf(access),
    })
  }
  return {
    name: location.name,
    scope: scopes[location.scope],
    writers: [...writers.values()],
    readers: [...readers.values()],
    ...(guard !== undefined && { guard }),
  }
}
