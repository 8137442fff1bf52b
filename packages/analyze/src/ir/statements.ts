/** Statements: the shape of the graph. */
import type {
  ForStatementLeft,
  Node,
  Statement,
  SwitchStatement,
  TryStatement,
  VariableDeclaration,
} from 'oxc-parser'
import { assignPattern } from './assignments.ts'
import { declareClass, lowerClass } from './classes.ts'
import { decideState, lowerCondition } from './conditions.ts'
import { lowerExpression, lowerFunctionValue } from './expressions.ts'
import type { Block } from './graph.ts'
import { givenFunction } from './given-functions.ts'
import { addToBranch } from './graph.ts'
import type { HostLowering } from './host.ts'
import { declareImport, lowerModuleDeclaration, lowerRequire } from './modules.ts'
import { isFunctionNode, simpleName } from './nodes.ts'
import { noteReturn } from './returned.ts'
import { declareAll, declaresNames, eachName, Scope } from './scope.ts'
import { unknown } from './values.ts'
import type { Value } from './values.ts'

/** Hoists the declarations of a list of statements, then lowers it. */
export function lowerStatements(cx: HostLowering, statements: readonly Statement[]): void {
  hoist(cx, statements)
  for (const statement of statements) lowerStatement(cx, statement)
}

/** A list in a scope of its own, where it needs one. */
function lowerBlock(cx: HostLowering, statements: readonly Statement[]): void {
  if (!declaresNames(statements)) {
    for (const statement of statements) lowerStatement(cx, statement)
    return
  }
  cx.withScope(new Scope(cx.scope, cx.unit), () => lowerStatements(cx, statements))
}

export function hoist(cx: HostLowering, statements: readonly Node[]): void {
  for (const statement of statements) {
    const node =
      (statement.type === 'ExportNamedDeclaration' ||
        statement.type === 'ExportDefaultDeclaration') &&
      statement.declaration
        ? statement.declaration
        : statement
    switch (node.type) {
      case 'VariableDeclaration':
        if (node.kind !== 'var') declareAll(node, cx.scope)
        break
      case 'FunctionDeclaration':
        if (node.id) {
          const binding = cx.scope.declare(node.id.name, 'function')
          binding.function =
            givenFunction(cx, node, node.id.name) ??
            lowerFunctionValue(cx, node, node.id.name).unit!
          binding.value = { unit: binding.function }
        }
        break
      case 'ClassDeclaration':
        declareClass(cx, node)
        break
      case 'ImportDeclaration':
        declareImport(cx, node)
        break
      default:
        break
    }
  }
}

export function lowerStatement(cx: HostLowering, node: Statement): void {
  if (!cx.enter(node.start)) return
  switch (node.type) {
    case 'ExpressionStatement':
      lowerExpressionStatement(cx, node.expression)
      break
    case 'VariableDeclaration':
      lowerVariables(cx, node)
      break
    case 'ReturnStatement':
      lowerReturn(cx, node.argument, node.start, node.end)
      break
    case 'IfStatement':
      lowerIf(cx, node)
      break
    case 'BlockStatement':
      lowerBlock(cx, node.body)
      break
    case 'ForStatement':
      lowerFor(cx, node)
      break
    case 'ForInStatement':
    case 'ForOfStatement':
      lowerForEach(cx, node)
      break
    case 'WhileStatement':
      lowerWhile(cx, node.test, node.body, undefined)
      break
    case 'DoWhileStatement':
      lowerDoWhile(cx, node.test, node.body, undefined)
      break
    case 'TryStatement':
      lowerTry(cx, node)
      break
    case 'SwitchStatement':
      lowerSwitch(cx, node, undefined)
      break
    case 'ThrowStatement':
      lowerExpression(cx, node.argument)
      cx.current.isThrowing = true
      cx.mayThrow()
      leaveThrough(cx, 0, undefined, cx.frame.handler === undefined)
      cx.unreachable()
      break
    case 'BreakStatement':
    case 'ContinueStatement':
      lowerJump(cx, node.type === 'BreakStatement', node.label?.name)
      break
    case 'LabeledStatement':
      lowerLabeled(cx, node.body, node.label.name)
      break
    case 'ClassDeclaration':
      lowerClass(cx, node)
      break
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportDefaultDeclaration':
    case 'ExportAllDeclaration':
    case 'TSExportAssignment':
      lowerModuleDeclaration(cx, node)
      break
    case 'TSModuleDeclaration':
      if (node.body?.type === 'TSModuleBlock') lowerBlock(cx, node.body.body)
      break
    case 'WithStatement':
      lowerExpression(cx, node.object)
      lowerStatement(cx, node.body)
      break
    default:
      break
  }
  cx.leave()
}

function lowerExpressionStatement(cx: HostLowering, node: Node & { type: string }): void {
  const value = lowerExpression(cx, node as never)
  // A promise that no code takes. `f().catch(…)` is no longer the promise of f alone: it was joined there.
  for (const call of value.calls ?? []) {
    if (value.isAwaited === true) call.isDiscarded = node.type !== 'AssignmentExpression'
    else if (!call.isJoined && isItself(node, call.start, call.end)) call.isFloating = true
  }
}

function isItself(node: Node, start: number, end: number): boolean {
  const inner = node.type === 'ChainExpression' ? node.expression : node
  return inner.start === start && inner.end === end
}

function lowerVariables(cx: HostLowering, node: VariableDeclaration): void {
  for (const declarator of node.declarations) {
    if (declarator.init === null || lowerRequire(cx, declarator.id, declarator.init)) continue
    const name = simpleName(declarator.id)
    const given = isFunctionNode(declarator.init)
      ? givenFunction(cx, declarator.init, name)
      : undefined
    const value = given === undefined ? lowerExpression(cx, declarator.init, name) : { unit: given }
    assignPattern(cx, declarator.id, value, true)
    if (node.kind === 'await using')
      cx.suspend('dispose', declarator.start, declarator.end, value.calls ?? [])
  }
}

function lowerReturn(cx: HostLowering, argument: Node | null, start: number, end: number): void {
  const value = argument === null ? unknown : lowerExpression(cx, argument as never)
  if (argument !== null) noteReturn(cx.unit, value)
  const pending = value.isAwaited === true ? [] : (value.calls ?? [])
  for (const call of pending) {
    call.isJoined = true
    call.isReturned = true
  }
  // With a `finally` around it the function continues at once: nothing is awaited here.
  if (pending.length > 0 && cx.frame.finallies.length === 0) cx.suspend('call', start, end, pending)
  const { exit } = cx.frame
  if (value.tail !== undefined && exit !== undefined) cx.link(value.tail, exit)
  leaveThrough(cx, 0, exit, true)
  cx.unreachable()
}

/** Leaves the statement through the open `finally` blocks above a depth. */
function leaveThrough(
  cx: HostLowering,
  depth: number,
  target: Block | undefined,
  isExit: boolean,
): void {
  const { finallies } = cx.frame
  if (finallies.length > depth) {
    cx.link(cx.current, finallies.at(-1)!)
    return
  }
  if (target !== undefined && isExit) cx.link(cx.current, target)
}

function lowerIf(cx: HostLowering, first: Extract<Statement, { type: 'IfStatement' }>): void {
  const after = cx.block()
  let node: Statement | null = first
  // A chain of else-ifs is a list, not a tower.
  while (node?.type === 'IfStatement') {
    const yes = cx.block()
    const no = node.alternate === null ? after : cx.block()
    lowerCondition(cx, node.test, yes, no)
    cx.current = yes
    lowerStatement(cx, node.consequent)
    cx.link(cx.current, after)
    cx.current = no
    node = node.alternate
  }
  if (node !== null) lowerStatement(cx, node)
  if (cx.current !== after) cx.jumpTo(after)
}

function lowerLoopBody(
  cx: HostLowering,
  body: Statement,
  label: string | undefined,
  breakTo: Block,
  continueTo: Block,
): void {
  cx.frame.jumps.push({ label, breakTo, continueTo })
  cx.inLoop(() => lowerStatement(cx, body))
  cx.frame.jumps.pop()
}

function lowerWhile(
  cx: HostLowering,
  test: Extract<Statement, { type: 'WhileStatement' }>['test'],
  body: Statement,
  label: string | undefined,
): void {
  const header = cx.inLoop(() => cx.advance())
  const inside = cx.inLoop(() => cx.block())
  const after = cx.block()
  lowerCondition(cx, test, inside, after, true)
  cx.current = inside
  lowerLoopBody(cx, body, label, after, header)
  cx.link(cx.current, header)
  cx.current = after
}

function lowerDoWhile(
  cx: HostLowering,
  test: Extract<Statement, { type: 'DoWhileStatement' }>['test'],
  body: Statement,
  label: string | undefined,
): void {
  const inside = cx.inLoop(() => cx.advance())
  const check = cx.inLoop(() => cx.block())
  const after = cx.block()
  lowerLoopBody(cx, body, label, after, check)
  cx.jumpTo(check)
  lowerCondition(cx, test, inside, after, true)
  cx.current = after
}

function lowerFor(
  cx: HostLowering,
  node: Extract<Statement, { type: 'ForStatement' }>,
  label?: string,
): void {
  const scope = new Scope(cx.scope, cx.unit)
  cx.withScope(scope, () => {
    if (node.init?.type === 'VariableDeclaration') {
      if (node.init.kind !== 'var') declareAll(node.init, scope)
      lowerVariables(cx, node.init)
    } else if (node.init !== null) lowerExpression(cx, node.init)
    const header = cx.inLoop(() => cx.advance())
    const inside = cx.inLoop(() => cx.block())
    const update = cx.inLoop(() => cx.block())
    const after = cx.block()
    if (node.test === null) cx.link(cx.current, inside)
    else lowerCondition(cx, node.test, inside, after, true)
    cx.current = inside
    lowerLoopBody(cx, node.body, label, after, update)
    cx.jumpTo(update)
    if (node.update !== null) lowerExpression(cx, node.update)
    cx.link(cx.current, header)
    cx.current = after
  })
}

function lowerForEach(
  cx: HostLowering,
  node: Extract<Statement, { type: 'ForInStatement' | 'ForOfStatement' }>,
  label?: string,
): void {
  const right = lowerExpression(cx, node.right)
  const scope = new Scope(cx.scope, cx.unit)
  cx.withScope(scope, () => {
    const header = cx.inLoop(() => cx.advance())
    if (node.type === 'ForOfStatement' && node.await)
      cx.suspend('for-await', node.left.start, node.right.end, right.calls ?? [])
    const inside = cx.inLoop(() => cx.block())
    const after = cx.block()
    cx.link(cx.current, inside)
    cx.link(cx.current, after)
    cx.current = inside
    bindLoopVariable(
      cx,
      node.left,
      scope,
      right.reads === undefined ? unknown : { within: right.reads },
    )
    lowerLoopBody(cx, node.body, label, after, header)
    cx.link(cx.current, header)
    cx.current = after
  })
}

function bindLoopVariable(
  cx: HostLowering,
  left: ForStatementLeft,
  scope: Scope,
  element: Value,
): void {
  if (left.type === 'VariableDeclaration') {
    if (left.kind !== 'var') declareAll(left, scope)
    for (const declarator of left.declarations) assignPattern(cx, declarator.id, element, true)
  } else assignPattern(cx, left, element, false)
}

function lowerLabeled(cx: HostLowering, body: Statement, label: string): void {
  switch (body.type) {
    case 'WhileStatement':
      lowerWhile(cx, body.test, body.body, label)
      return
    case 'DoWhileStatement':
      lowerDoWhile(cx, body.test, body.body, label)
      return
    case 'ForStatement':
      lowerFor(cx, body, label)
      return
    case 'ForInStatement':
    case 'ForOfStatement':
      lowerForEach(cx, body, label)
      return
    case 'SwitchStatement':
      lowerSwitch(cx, body, label)
      return
    default: {
      const after = cx.block()
      const { jumps } = cx.frame
      jumps.push({ label, breakTo: after, continueTo: undefined })
      lowerStatement(cx, body)
      jumps.pop()
      cx.jumpTo(after)
    }
  }
}

function lowerJump(cx: HostLowering, isBreak: boolean, label: string | undefined): void {
  const jump = cx.frame.jumps.findLast(
    (one) =>
      (label === undefined ? true : one.label === label) &&
      (isBreak || one.continueTo !== undefined),
  )
  const target = isBreak ? jump?.breakTo : jump?.continueTo
  if (target !== undefined) cx.link(cx.current, target)
  cx.unreachable()
}

function lowerSwitch(cx: HostLowering, node: SwitchStatement, label: string | undefined): void {
  const value = lowerExpression(cx, node.discriminant)
  const after = cx.block()
  const head = cx.current
  const entries = node.cases.map(() => cx.block())
  const fallback = entries[node.cases.findIndex((one) => one.test === null)] ?? after
  const { jumps } = cx.frame
  jumps.push({ label, breakTo: after, continueTo: undefined })
  cx.withScope(new Scope(cx.scope, cx.unit), () => {
    for (const one of node.cases) hoist(cx, one.consequent)
    for (const [index, one] of node.cases.entries()) {
      const entry = entries[index]!
      cx.link(head, entry)
      if (one.test !== null) {
        const branch = cx.newBranch(entry, fallback, one.test.start, one.test.end, false)
        addToBranch(branch, head)
        decideState(value, entry, fallback, branch, node.discriminant)
      }
      cx.current = entry
      for (const statement of one.consequent) lowerStatement(cx, statement)
      cx.link(cx.current, entries[index + 1] ?? after)
    }
  })
  jumps.pop()
  cx.link(head, fallback)
  cx.current = after
}

/**
 * `finally` is lowered twice: once for the normal end, once for an early exit. With one copy
 * an early `return` would seem to continue behind the statement.
 */
function lowerTry(cx: HostLowering, node: TryStatement): void {
  const { frame } = cx
  const outer = frame.handler
  const after = cx.block()
  const { finalizer } = node
  const abrupt = finalizer === null ? undefined : cx.inCleanup(2, () => cx.block())
  const caught = node.handler === null ? undefined : cx.inCleanup(1, () => cx.block())
  if (abrupt !== undefined) frame.finallies.push(abrupt)
  frame.handler = caught ?? abrupt ?? outer
  cx.advance()
  lowerBlock(cx, node.block.body)
  const ends = [cx.current]
  frame.handler = abrupt ?? outer
  if (caught !== undefined && node.handler !== null) {
    const { param, body } = node.handler
    cx.current = caught
    cx.inCleanup(1, () => {
      const scope = new Scope(cx.scope, cx.unit)
      eachName(param, (name) => scope.declare(name, 'catch'))
      cx.advance()
      cx.withScope(scope, () => lowerBlock(cx, body.body))
    })
    ends.push(cx.current)
  }
  if (abrupt !== undefined) frame.finallies.pop()
  frame.handler = outer
  if (finalizer === null || abrupt === undefined) {
    for (const end of ends) cx.link(end, after)
    cx.current = after
    return
  }
  cx.inCleanup(2, () => {
    const normal = cx.block()
    for (const end of ends) cx.link(end, normal)
    cx.current = normal
    lowerBlock(cx, finalizer.body)
    cx.link(cx.current, after)
    cx.current = abrupt
    lowerBlock(cx, finalizer.body)
    cx.mayThrow()
    leaveThrough(cx, 0, frame.exit, true)
  })
  cx.current = after
}
