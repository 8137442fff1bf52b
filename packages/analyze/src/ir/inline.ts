/** Lowers a callback into the graph of the function it is written in. */
import type { HostLowering } from './host.ts'
import { assignPattern } from './assignments.ts'
import { lowerExpression } from './expressions.ts'
import { surroundings } from './given-functions.ts'
import type { Block } from './graph.ts'
import type { AnyFunction } from './nodes.ts'
import type { FunctionUnit } from './program.ts'
import { eachName, hoistVars, Scope } from './scope.ts'
import { lowerStatements } from './statements.ts'
import { noteReturn } from './returned.ts'
import { unknown } from './values.ts'
import type { Value } from './values.ts'

/** Continues from the current block; all ends of the function lead to `exit`. Returns its result. */
export function inlineInto(
  cx: HostLowering,
  unit: FunctionUnit,
  node: AnyFunction,
  exit: Block,
  handler: Block | undefined,
  argument: Value = unknown,
  given?: Value,
): Value {
  const outer = surroundings(cx, unit)
  const isArrow = node.type === 'ArrowFunctionExpression'
  const thisValue = given ?? (isArrow ? outer.thisValue : unknown)
  const scope = new Scope(outer.scope, unit)
  return cx.withFrame(
    {
      unit,
      scope,
      exit,
      jumps: [],
      finallies: [],
      handler,
      thisValue,
      isInitial: false,
    },
    () => {
      declareParams(cx, node, scope)
      if (argument !== unknown)
        for (const param of node.params) assignPattern(cx, param, argument, true)
      return lowerBody(cx, node, exit)
    },
  )
}

export function declareParams(cx: HostLowering, node: AnyFunction, scope: Scope): void {
  for (const param of node.params)
    eachName(param, (name, type) => scope.declare(name, 'param', type))
  for (const param of node.params) {
    // Defaults are evaluated in the body's first region.
    if (param.type === 'AssignmentPattern') assignPattern(cx, param, unknown, true)
  }
}

/** Lowers the body and leads its end to `exit`. */
export function lowerBody(cx: HostLowering, node: AnyFunction, exit: Block | undefined): Value {
  const { body } = node
  if (body === null) return unknown
  if (body.type !== 'BlockStatement') {
    const value = lowerExpression(cx, body)
    noteReturn(cx.unit, value)
    const pending = value.isAwaited === true || isVoidRole(cx.unit) ? [] : (value.calls ?? [])
    for (const call of pending) {
      call.isJoined = true
      call.isReturned = true
    }
    if (pending.length > 0) cx.suspend('call', body.start, body.end, pending)
    if (value.tail !== undefined && exit !== undefined) cx.link(value.tail, exit)
    if (exit !== undefined) cx.link(cx.current, exit)
    return value
  }
  hoistVars(body.body, cx.scope)
  lowerStatements(cx, body.body)
  if (exit !== undefined) cx.link(cx.current, exit)
  return unknown
}

/** The result of a listener or a synchronous visitor is not awaited. */
function isVoidRole(unit: FunctionUnit): boolean {
  return (
    unit.role === 'sync' ||
    unit.role === 'event' ||
    unit.role === 'timer' ||
    unit.role === 'interval'
  )
}
