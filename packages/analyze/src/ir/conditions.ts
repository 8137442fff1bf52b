/** Branches: which reads decide them, and which outcome means "it is there". */
import type { Expression } from 'oxc-parser'
import { addCheck, addToBranch } from './graph.ts'
import type { Block, Branch, Check } from './graph.ts'
import { lowerExpression } from './expressions.ts'
import type { HostLowering } from './host.ts'
import { unwrap } from './nodes.ts'
import type { Value } from './values.ts'

/** Lowers a condition so that control continues at one of two blocks. Leaves no current block. */
export function lowerCondition(
  cx: HostLowering,
  node: Expression,
  whenTrue: Block,
  whenFalse: Block,
  isLoop = false,
): Branch {
  const branch = cx.newBranch(whenTrue, whenFalse, node.start, node.end, isLoop)
  lowerTest(cx, node, whenTrue, whenFalse, branch)
  return branch
}

function lowerTest(
  cx: HostLowering,
  wrapped: Expression,
  yes: Block,
  no: Block,
  branch: Branch,
): void {
  const node = unwrap(wrapped)
  if (!cx.enter(node.start)) {
    cx.link(cx.current, yes)
    cx.link(cx.current, no)
    return
  }
  if (node.type === 'UnaryExpression' && node.operator === '!') {
    lowerTest(cx, node.argument, no, yes, branch)
  } else if (node.type === 'LogicalExpression' && node.operator !== '??') {
    const middle = cx.block()
    if (node.operator === '&&') lowerTest(cx, node.left, middle, no, branch)
    else lowerTest(cx, node.left, yes, middle, branch)
    cx.current = middle
    lowerTest(cx, node.right, yes, no, branch)
  } else {
    const value = lowerExpression(cx, node)
    decide(value, polarityOf(node), yes, no, branch, node)
    addToBranch(branch, cx.current)
    cx.current.branch = branch
    cx.link(cx.current, yes)
    cx.link(cx.current, no)
  }
  cx.leave()
}

interface Polarity {
  /** Whether "true" says that the location is there. */
  readonly says: 'present' | 'absent' | 'nothing'
  /** The value is the result of a call: its meaning depends on the callee. */
  readonly isAnswer?: boolean
  readonly isIdentity: boolean
}

const present: Polarity = { says: 'present', isIdentity: false }
const absent: Polarity = { says: 'absent', isIdentity: false }
const nothing: Polarity = { says: 'nothing', isIdentity: false }
const answer: Polarity = { says: 'nothing', isAnswer: true, isIdentity: false }
const identity: Polarity = { says: 'nothing', isIdentity: true }

function polarityOf(node: Expression): Polarity {
  switch (node.type) {
    case 'Identifier':
    case 'MemberExpression':
    case 'AwaitExpression':
    case 'AssignmentExpression':
      return present
    case 'CallExpression': {
      const callee = unwrap(node.callee)
      const name =
        callee.type === 'MemberExpression' && callee.property.type === 'Identifier'
          ? callee.property.name
          : ''
      return /^(?:has|get|includes|exists)/.test(name) ? present : answer
    }
    case 'BinaryExpression': {
      const equals = node.operator === '==' || node.operator === '==='
      const differs = node.operator === '!=' || node.operator === '!=='
      if (node.operator === 'in') return present
      if (!equals && !differs) return nothing
      const kind = constantKind(node.right) ?? constantKind(node.left)
      if (kind === undefined) return identity
      if (kind === 'absent') return equals ? absent : present
      if (kind === 'present') return equals ? present : absent
      return nothing
    }
    default:
      return nothing
  }
}

/** The meaning of a comparison with it: it is nothing, it is `true`, it is some named state. */
function constantKind(wrapped: Expression): 'absent' | 'present' | 'state' | undefined {
  const node = unwrap(wrapped)
  switch (node.type) {
    case 'Literal':
      if (node.value === true) return 'present'
      return node.value === null || node.value === false || node.value === 0 || node.value === ''
        ? 'absent'
        : node.value === 'undefined'
          ? 'absent'
          : 'state'
    case 'Identifier':
      return node.name === 'undefined'
        ? 'absent'
        : /^(?:[A-Z][A-Z\d_]*|k[A-Z]\w*|NaN|Infinity)$/.test(node.name)
          ? 'state'
          : undefined
    case 'UnaryExpression':
      return node.operator === 'void' ? 'absent' : 'state'
    case 'MemberExpression': {
      const root = unwrap(node.object)
      const isNamespace =
        (root.type === 'Identifier' && /^[A-Z]/.test(root.name)) ||
        (root.type === 'MemberExpression' &&
          root.property.type === 'Identifier' &&
          /^[A-Z]/.test(root.property.name))
      return isNamespace ||
        (node.property.type === 'Identifier' && /^[A-Z][A-Z\d_]+$/.test(node.property.name))
        ? 'state'
        : undefined
    }
    case 'TemplateLiteral':
      return node.expressions.length === 0 ? 'state' : undefined
    default:
      return undefined
  }
}

/** Notes on the reads (and calls) behind a value that this branch depends on them. */
function decide(
  value: Value,
  polarity: Polarity,
  yes: Block,
  no: Block,
  branch: Branch,
  at: { readonly start: number; readonly end: number },
): void {
  const check: Check = {
    branch,
    whenPresent: polarity.says === 'present' ? yes : polarity.says === 'absent' ? no : undefined,
    whenAbsent: polarity.says === 'present' ? no : polarity.says === 'absent' ? yes : undefined,
    ...(polarity.isAnswer === true && { whenTrue: yes, whenFalse: no }),
    isIdentity: polarity.isIdentity,
    start: at.start,
    end: at.end,
  }
  if (value.reads !== undefined) for (const access of value.reads) addCheck(access, check)
  if (value.calls !== undefined) for (const call of value.calls) addCheck(call, check)
  if (value.from !== undefined) for (const call of value.from) addCheck(call, check)
}

/** For `??`, `?.` and `??=`: true means "not null". */
export function decidePresence(
  value: Value,
  yes: Block,
  no: Block,
  branch: Branch,
  at: { readonly start: number; readonly end: number },
): void {
  decide(value, present, yes, no, branch, at)
}

export function decideState(
  value: Value,
  yes: Block,
  no: Block,
  branch: Branch,
  at: { readonly start: number; readonly end: number },
): void {
  decide(value, nothing, yes, no, branch, at)
}
