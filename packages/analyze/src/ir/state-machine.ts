/**
 * Async functions compiled to ES5: `switch (_a.label) { case 0: return [4, f()]; case 1: … }`.
 *
 * Each case is a block. `return [4, x]` waits for x and continues at the next case, `return [3, n]`
 * goes to case n, `return [2, v]` returns. Tries are labels too; exceptions there are not followed.
 */
import type { Expression, Statement } from 'oxc-parser'
import { lowerCondition } from './conditions.ts'
import { awaitValue, lowerExpression } from './expressions.ts'
import type { Block } from './graph.ts'
import type { HostLowering } from './host.ts'
import type { AnyFunction } from './nodes.ts'
import { hoistVars, Scope } from './scope.ts'
import { hoist, lowerStatement, lowerStatements } from './statements.ts'

interface Cases {
  readonly blocks: Map<number, Block>
  readonly next: Block | undefined
  readonly exit: Block
}

export function lowerStateMachine(cx: HostLowering, fn: AnyFunction): void {
  const body = fn.body
  if (body === null || body.type !== 'BlockStatement') return
  const machine = body.body.find((one) => one.type === 'SwitchStatement')
  cx.withScope(new Scope(cx.scope, cx.unit), () => {
    hoistVars(body.body, cx.scope)
    if (machine?.type !== 'SwitchStatement') {
      lowerStatements(cx, body.body)
      return
    }
    const exit = cx.block()
    const ordered = machine.cases.map(() => cx.block())
    const blocks = new Map<number, Block>()
    for (const [index, { test }] of machine.cases.entries()) {
      const label = test?.type === 'Literal' ? Number(test.value) : Number.NaN
      // If two blocks have one label, jumps go to the first.
      if (!blocks.has(label)) blocks.set(label, ordered[index]!)
    }
    for (const one of machine.cases) hoist(cx, one.consequent)
    if (ordered[0] !== undefined) cx.link(cx.current, ordered[0])
    for (const [index, one] of machine.cases.entries()) {
      cx.current = ordered[index]!
      const cases = { blocks, next: ordered[index + 1], exit }
      for (const statement of one.consequent) lowerPart(cx, statement, cases)
      if (cases.next !== undefined) cx.link(cx.current, cases.next)
    }
    cx.current = exit
  })
}

function lowerPart(cx: HostLowering, statement: Statement, cases: Cases): void {
  if (statement.type === 'ReturnStatement') {
    lowerStep(cx, statement.argument, cases)
    return
  }
  if (statement.type === 'IfStatement' && statement.alternate === null) {
    const after = cx.block()
    const inside = cx.block()
    lowerCondition(cx, statement.test, inside, after)
    cx.current = inside
    const parts =
      statement.consequent.type === 'BlockStatement'
        ? statement.consequent.body
        : [statement.consequent]
    for (const part of parts) lowerPart(cx, part, cases)
    cx.jumpTo(after)
    return
  }
  lowerStatement(cx, statement)
}

function lowerStep(cx: HostLowering, argument: Expression | null, cases: Cases): void {
  const parts = argument?.type === 'ArrayExpression' ? argument.elements : []
  const [code, operand] = parts
  const step = code?.type === 'Literal' ? code.value : undefined
  const expression = operand === null || operand?.type === 'SpreadElement' ? undefined : operand
  if (step === 4) {
    const value = expression === undefined ? {} : lowerExpression(cx, expression)
    awaitValue(cx, value, 'yield', argument!.start, argument!.end)
    if (cases.next !== undefined) cx.link(cx.current, cases.next)
  } else if (step === 3) {
    const label = expression?.type === 'Literal' ? Number(expression.value) : Number.NaN
    const target = cases.blocks.get(label)
    if (target !== undefined) cx.link(cx.current, target)
  } else {
    if (expression !== undefined) {
      const value = lowerExpression(cx, expression)
      const pending = value.isAwaited === true ? [] : (value.calls ?? [])
      for (const call of pending) call.isJoined = true
      if (pending.length > 0) cx.suspend('call', argument!.start, argument!.end, pending)
    }
    cx.link(cx.current, cases.exit)
  }
  cx.unreachable()
}
