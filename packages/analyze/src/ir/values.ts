/**
 * What is known about the result of an expression.
 *
 * Not a domain of numbers and strings but of origins: which shared locations it was read from, which
 * calls it is the promise of, which function it is. That is what rules ask: "does this branch depend
 * on a read of L", "is the value stored here a promise", "was this computed from a snapshot of L".
 */
import type { Access, Block } from './graph.ts'
import type { Location } from './locations.ts'
import type { CallSite, ClassUnit, FunctionUnit, NameInScope } from './program.ts'

export type LiteralKind = 'null' | 'false' | 'true' | 'number' | 'string' | 'zero'

export interface Value {
  /** The value is (an alias of) the value stored there. */
  readonly location?: Location
  /** Reads it was computed from. */
  readonly reads?: readonly Access[]
  /** The value is the promise (or the awaited result) of these calls. */
  readonly calls?: readonly CallSite[]
  /** Calls whose results it was computed from; it is none of their promises. */
  readonly from?: readonly CallSite[]
  /** Parameters it was computed from; it is none of them. */
  readonly given?: readonly Location[]
  /** The block where the continuations of the promise end. */
  readonly tail?: Block
  /** It may also settle without having gone through the tail. */
  readonly isTailOptional?: boolean
  readonly unit?: FunctionUnit
  /** `this`, or an object literal with methods: fields of it are fields of the class. */
  readonly instanceOf?: ClassUnit
  readonly literal?: LiteralKind
  /** Made here: no other task has the object yet. */
  readonly fresh?: 'object' | 'empty' | 'promise'
  /** The value is this class, not an object of it. */
  readonly classRef?: ClassUnit
  /** `new X(…)`. */
  readonly constructed?: NameInScope
  /** The value went through an `await`, so it is not a promise any more. */
  readonly isAwaited?: boolean
  /** It is an element of the value read here: the variable of a loop. */
  readonly within?: readonly Access[]
  /** Elements of an array literal, or fields of an object literal. */
  readonly parts?: readonly Value[]
}

export const unknown: Value = Object.freeze({})

const maxReads = 8

/** Depends on everything that either of the two values depends on. */
export function combine(a: Value, b: Value): Value {
  if (a === unknown) return derived(b)
  if (b === unknown) return derived(a)
  const reads = union(a.reads, b.reads)
  const from = union(union(a.calls, a.from), union(b.calls, b.from))
  const value = derivedOf(reads, from, (a.isAwaited ?? b.isAwaited) === true)
  return withGiven(value, union(givenTo(a), givenTo(b)))
}

/** Computed from it, but no longer it. */
export function derived(value: Value): Value {
  const made = derivedOf(value.reads, union(value.calls, value.from), value.isAwaited === true)
  return withGiven(made, givenTo(value))
}

/** A part of it: what is a part of an element of a container belongs to the container, too. */
export function partOf(value: Value): Value {
  const { within } = value
  return within === undefined ? derived(value) : { ...derived(value), within }
}

function givenTo({ given, location }: Value): readonly Location[] | undefined {
  if (given !== undefined) return given
  return location?.scope === 'parameter' && location.depth === 0 ? [location] : undefined
}

function withGiven(value: Value, given: readonly Location[] | undefined): Value {
  return given === undefined ? value : { ...value, given }
}

function derivedOf(reads: Value['reads'], from: Value['from'], isAwaited: boolean): Value {
  // Written out, not spread: values are made for every expression of the program.
  if (reads === undefined) {
    if (from === undefined) return unknown
    return isAwaited ? { from, isAwaited } : { from }
  }
  if (from === undefined) return isAwaited ? { reads, isAwaited } : { reads }
  return isAwaited ? { reads, from, isAwaited } : { reads, from }
}

/** The result of a call: not a read of its arguments, except outside of the program. */
export function answered(value: Value): Value {
  if (value.calls === undefined) return derived(value)
  const reads = value.reads?.filter((access) => access.location.scope === 'external')
  return {
    isAwaited: true,
    calls: value.calls,
    ...(reads !== undefined && reads.length > 0 && { reads }),
    ...(value.from !== undefined && { from: value.from }),
  }
}

/** One of both, for `a ?? b`, `c ? a : b` and variables that are assigned more than once. */
export function either(a: Value, b: Value): Value {
  if (a === unknown || a === b) return b
  if (b === unknown) return a
  const reads = union(a.reads, b.reads)
  const calls = union(a.calls, b.calls)
  const from = union(a.from, b.from)
  return {
    ...(reads !== undefined && { reads }),
    ...(calls !== undefined && { calls }),
    ...(from !== undefined && { from }),
    ...(a.isAwaited === true && b.isAwaited === true && { isAwaited: true }),
    ...(a.location !== undefined && a.location === b.location && { location: a.location }),
    ...(a.instanceOf !== undefined &&
      a.instanceOf === b.instanceOf && { instanceOf: a.instanceOf }),
    ...((a.tail ?? b.tail) !== undefined && { tail: a.tail ?? b.tail! }),
    ...((a.constructed ?? b.constructed) !== undefined && {
      constructed: a.constructed ?? b.constructed!,
    }),
  }
}

function union<T>(
  a: readonly T[] | undefined,
  b: readonly T[] | undefined,
): readonly T[] | undefined {
  if (a === undefined || a.length === 0) return b
  if (b === undefined || b.length === 0) return a
  if (a.length >= maxReads) return a
  let both = a
  for (const one of b) {
    if (both.length >= maxReads) break
    if (!both.includes(one)) both = [...both, one]
  }
  return both
}
