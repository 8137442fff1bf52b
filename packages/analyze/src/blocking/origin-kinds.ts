/** Where data comes from, as far as its size is concerned, and small questions about expressions. */
import type { Expression, Node } from 'oxc-parser'
import { keyName, unwrap } from '../ir/nodes.ts'
import type { FileUnit, FunctionUnit } from '../ir/program.ts'
import type { SourceEntry } from '../models/model.ts'

export type Origin =
  | { readonly kind: 'bounded' }
  | { readonly kind: 'unknown' }
  /** An argument that a caller of a public function passes. */
  | { readonly kind: 'input'; readonly unit: FunctionUnit; readonly name: string }
  | {
      readonly kind: 'source'
      readonly gives: string
      readonly limit: number | undefined
      readonly hasControl: boolean
      readonly isTrusted: boolean
      readonly file: FileUnit
      readonly start: number
      readonly end: number
    }

export const bounded: Origin = { kind: 'bounded' }
export const unknown: Origin = { kind: 'unknown' }

interface Span {
  readonly start: number
  readonly end: number
}

export function found(entry: SourceEntry, file: FileUnit, { start, end }: Span): Origin {
  return {
    kind: 'source',
    gives: entry.gives,
    limit: entry.limit,
    hasControl: entry.noControl !== true,
    isTrusted: entry.trusted === true,
    file,
    start,
    end,
  }
}

/** `req` of `req`, `ctx.request` of `ctx.request`: as models name the owner of a property. */
export function nameOf(expression: Node): string | undefined {
  const node = unwrap(expression as Expression)
  if (node.type === 'Identifier') return node.name
  if (node.type === 'AwaitExpression') return nameOf(node.argument)
  if (node.type === 'MemberExpression') {
    const owner = nameOf(node.object)
    const field = keyName(node.property, node.computed)
    return owner === undefined || field === undefined ? undefined : `${owner}.${field}`
  }
  return undefined
}

function rank(origin: Origin): number {
  switch (origin.kind) {
    case 'bounded':
      return 0
    case 'unknown':
      return 1
    case 'input':
      return 2
    case 'source':
      return origin.limit === undefined ? 4 : 3
  }
}

/** The first, unless the second is worse. */
export function worse(a: Origin, b: Origin): Origin {
  return rank(b) > rank(a) ? b : a
}

/** Nothing is worse, so that no other value has to be checked. */
export function isWorst(origin: Origin): boolean {
  return origin.kind === 'source' && origin.limit === undefined
}
