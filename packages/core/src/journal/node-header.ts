/** The fields of a node that journals keep: the one list of fields that most nodes do not have. */
import type { NodeHeader } from './journal.ts'

/** The fields of a node besides its name, job, place, dependencies and input. */
export type RareFields = Omit<NodeHeader, 'name' | 'job' | 'place' | 'after' | 'input'>

const rareNames = Object.keys({
  parent: 1,
  grows: 1,
  map: 1,
  when: 1,
  version: 1,
  redact: 1,
} satisfies Record<keyof RareFields, 1>) as (keyof RareFields)[]

/** The fields that are set; undefined when there are none. */
export function rareFieldsOf(node: {
  readonly [K in keyof RareFields]?: RareFields[K] | undefined
}): RareFields | undefined {
  let found: Partial<Record<keyof RareFields, unknown>> | undefined
  for (const name of rareNames) {
    const value = node[name]
    if (value !== undefined) (found ??= {})[name] = value
  }
  return found as RareFields | undefined
}

/** The header of a node of which more is known. */
export function headerOf(node: NodeHeader): NodeHeader {
  const { name, job, place, after, input } = node
  return { name, job, place, after, ...(input !== undefined && { input }), ...rareFieldsOf(node) }
}
