/** Rows as they are stored, and back. */
import type {
  HistoryEntry,
  InputRecord,
  NodeHeader,
  PartEntry,
  RunHolder,
  Transition,
} from './journal.ts'
import { cutRecord } from './cut-text.ts'
import { rareFieldsOf, type RareFields } from './node-header.ts'
import { nodeStateOf, runStateOf } from './states.ts'

/** The kinds of rows of the history. Appended to, never reordered. */
export const Kind = { node: 0, success: 1, log: 2, run: 3, nodes: 4, part: 5 } as const

/** How the detail of a row begins that has nothing but an input, as the JSON that it is: to write and read it costs next to nothing. */
const inputStart = '{"input":'

/** The additional fields of a node's row; null for most. */
export function nodeDetail(transition: Transition): string | null {
  const { error, delay, blockedBy, part, input } = transition
  const isPlain = error === undefined && delay === undefined && blockedBy === undefined
  if (part === undefined && isPlain) return input === undefined ? null : inputDetail(input)
  return JSON.stringify({
    error: error && cutRecord(error),
    delay,
    blockedBy,
    part,
    ...inputFields(input),
  })
}

/** A beginning is not JSON: it is kept as a text, as is an input beside other fields. */
function inputDetail(input: InputRecord): string {
  return input.isCut === true ? JSON.stringify(inputFields(input)) : `${inputStart}${input.text}}`
}

function inputFields(
  input: InputRecord | undefined,
): { inputText?: string; isCut?: true } | undefined {
  return input && { inputText: input.text, ...(input.isCut === true && { isCut: true }) }
}

/** Reads what {@link nodeDetail} wrote. */
function readNodeDetail(detail: string): Partial<Transition> {
  if (detail.startsWith(inputStart)) {
    return { input: { text: detail.slice(inputStart.length, -1) } }
  }
  const { inputText, isCut, ...rest } = JSON.parse(detail) as Partial<Transition> &
    ReturnType<typeof inputFields>
  if (inputText === undefined) return rest
  return { ...rest, input: { text: inputText, ...(isCut && { isCut }) } }
}

export function holderDetail({ pid, host, command }: RunHolder): string {
  return JSON.stringify({ pid, host, command })
}

/** How long a run took, beside its last state. */
export function elapsedDetail(elapsed: number | undefined): string | null {
  return elapsed === undefined ? null : JSON.stringify({ elapsed })
}

/** Reads what {@link elapsedDetail} wrote; undefined for runs of earlier versions. */
export function elapsedOf(detail: string | null | undefined): number | undefined {
  return detail ? (JSON.parse(detail) as { readonly elapsed?: number }).elapsed : undefined
}

/** The holder of a run whose beginning is lost is not known. */
export function holderOf(detail: string | null | undefined): RunHolder {
  const found = detail ? (JSON.parse(detail) as Partial<RunHolder>) : {}
  return { pid: found.pid ?? 0, host: found.host ?? '', command: found.command ?? 'unknown' }
}

type NodeWire = readonly [
  name: string,
  job: string,
  place: NodeHeader['place'],
  after: readonly string[],
  input?: string | null,
  more?: RareFields,
]

export function nodesDetail(nodes: readonly NodeHeader[]): string {
  return JSON.stringify(
    nodes.map((node): NodeWire => {
      const { name, job, place, after, input } = node
      const more = rareFieldsOf(node)
      if (more !== undefined) return [name, job, place, after, input ?? null, more]
      return input === undefined ? [name, job, place, after] : [name, job, place, after, input]
    }),
  )
}

export function nodesOf(detail: string): NodeHeader[] {
  return (JSON.parse(detail) as NodeWire[]).map(([name, job, place, after, input, more]) => ({
    name,
    job,
    place,
    after,
    ...(typeof input === 'string' && { input }),
    ...more,
  }))
}

/** The columns in the order in which they are selected. */
export const historyColumns = 'position, kind, node, state, attempt, at, detail'

export type HistoryRow = readonly [
  position: number,
  kind: number,
  node: string | null,
  state: number | null,
  attempt: number | null,
  at: number,
  detail: string | null,
]

export function entryOf(row: HistoryRow): HistoryEntry {
  const [position, kind, name, state, attempt, at, detail] = row
  const node = name ?? ''
  switch (kind) {
    case Kind.log:
      return { kind: 'log', position, node, attempt: attempt ?? 0, at, text: detail ?? '' }
    case Kind.nodes:
      return { kind: 'nodes', position, at, added: detail === null ? [] : nodesOf(detail) }
    case Kind.run: {
      const { elapsed, ...by } = (
        detail === null ? {} : JSON.parse(detail)
      ) as Partial<RunHolder> & {
        readonly elapsed?: number
      }
      return {
        kind: 'run',
        position,
        at,
        state: runStateOf(state),
        ...('pid' in by && { by: by as RunHolder }),
        ...(elapsed !== undefined && { elapsed }),
      }
    }
    case Kind.part: {
      const rest = JSON.parse(detail ?? '{"part":{"path":""}}') as Pick<PartEntry, 'part'>
      return {
        kind: 'part',
        position,
        node,
        state: nodeStateOf(state),
        attempt: attempt ?? 0,
        at,
        ...rest,
      }
    }
    default: {
      const rest = detail === null ? undefined : readNodeDetail(detail)
      return {
        kind: 'node',
        position,
        node,
        state: nodeStateOf(state),
        attempt: attempt ?? 0,
        at,
        ...rest,
      }
    }
  }
}
