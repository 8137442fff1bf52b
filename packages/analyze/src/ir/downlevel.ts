/**
 * Helpers that compilers write: async functions as generators, private fields as weak maps.
 *
 * The code that people wrote is lowered, not the helper: `__awaiter(this, …, function* () { … })` is
 * the body of an async function, a `yield` in it is an `await`.
 */
import type { CallExpression, Expression } from 'oxc-parser'
import { assignMember, kindOf } from './assignments.ts'
import { newSite } from './calls.ts'
import { accessMember, lowerExpression } from './expressions.ts'
import type { HostLowering } from './host.ts'
import { inlineInto } from './inline.ts'
import { lowerStateMachine } from './state-machine.ts'
import { isFunctionNode, unwrap } from './nodes.ts'
import { unknown } from './values.ts'
import type { Value } from './values.ts'

const awaiters = /^(?:__awaiter\d*|__async|_asyncToGenerator\d*)$/
const privateGet =
  /^(?:__classPrivateFieldGet|_classPrivateFieldGet2?|__privateGet|_class_private_field_get)$/
const privateSet =
  /^(?:__classPrivateFieldSet|_classPrivateFieldSet2?|__privateSet|_class_private_field_set)$/
const publicField = /^(?:__publicField|_defineProperty\d*|_define_property)$/

/** The value of the call when it is such a helper. */
export function lowerHelper(
  cx: HostLowering,
  node: CallExpression,
  callee: Expression,
): Value | undefined {
  const name = helperName(callee)
  if (name !== undefined && (name.startsWith('_') || name === 'co' || name === 'coroutine')) {
    if (awaiters.test(name)) return lowerAwaiter(cx, node)
    if (name === '__generator') return lowerGenerator(cx, node)
    if (privateGet.test(name)) return lowerPrivateGet(cx, node)
    if (privateSet.test(name)) return lowerPrivateSet(cx, node)
    if (publicField.test(name)) return lowerPublicField(cx, node)
  }
  // `__classPrivateFieldGet(this, _instances, "m", _method).call(this, …)`
  if (
    callee.type === 'MemberExpression' &&
    callee.property.type === 'Identifier' &&
    callee.property.name === 'call'
  ) {
    const inner = unwrap(callee.object)
    if (
      inner.type === 'CallExpression' &&
      privateGet.test(helperName(unwrap(inner.callee)) ?? '')
    ) {
      const method = inner.arguments[3]
      if (method?.type === 'Identifier') return lowerPrivateCall(cx, node, method.name)
    }
  }
  return undefined
}

function helperName(callee: Expression): string | undefined {
  if (callee.type === 'Identifier') return callee.name
  if (callee.type === 'MemberExpression' && callee.property.type === 'Identifier')
    return callee.property.name.startsWith('__') ? callee.property.name : undefined
  return undefined
}

function lowerAwaiter(cx: HostLowering, node: CallExpression): Value | undefined {
  const fn = node.arguments.findLast((arg) => isFunctionNode(arg))
  if (fn === undefined || !isFunctionNode(fn)) return undefined
  if (node.arguments.length === 1) {
    // `_asyncToGenerator(function* () { … })` gives the async function itself.
    const value = lowerExpression(cx, fn)
    if (value.unit !== undefined) value.unit.isAsync = true
    return value
  }
  const { unit } = cx
  unit.isAsync = true
  const end = cx.block()
  const body = cx.file.unitOf(fn, unit, { name: undefined, kind: 'callback', visibility: 'local' })
  body.host = cx.host
  body.role = 'sync'
  cx.advance()
  // The helper calls the generator with the `this` it was given.
  inlineInto(cx, body, fn, end, cx.frame.handler, unknown, cx.frame.thisValue)
  cx.current = end
  return unknown
}

function lowerGenerator(cx: HostLowering, node: CallExpression): Value | undefined {
  const fn = node.arguments[1]
  if (fn === undefined || !isFunctionNode(fn) || fn.body?.type !== 'BlockStatement')
    return undefined
  lowerStateMachine(cx, fn)
  return unknown
}

/** `_Class_field` is the field `#field`. */
function privateName(node: CallExpression, index: number): string | undefined {
  const arg = node.arguments[index]
  if (arg?.type !== 'Identifier') return undefined
  return `#${arg.name.replace(/^_+(?:[A-Z]\w*?_)?/, '')}`
}

function lowerPrivateGet(cx: HostLowering, node: CallExpression): Value | undefined {
  const kind = node.arguments[2]
  const isMethod = kind?.type === 'Literal' && kind.value === 'm'
  const name = privateName(
    node,
    isMethod || (kind?.type === 'Literal' && kind.value === 'a') ? 3 : 1,
  )
  const object = node.arguments[0]
  if (name === undefined || object === undefined) return undefined
  const value = lowerExpression(cx, object as Expression)
  return accessMember(cx, value, name, node.start, node.end)
}

function lowerPrivateSet(cx: HostLowering, node: CallExpression): Value | undefined {
  const name = privateName(node, 1)
  const [object, , assigned] = node.arguments
  if (name === undefined || object === undefined || assigned === undefined) return undefined
  const value = lowerExpression(cx, assigned as Expression)
  writeField(cx, node, object as Expression, name, value)
  return value
}

function lowerPublicField(cx: HostLowering, node: CallExpression): Value | undefined {
  const [object, key, assigned] = node.arguments
  if (object === undefined || key?.type !== 'Literal' || typeof key.value !== 'string')
    return undefined
  const value =
    assigned === undefined ? unknown : lowerExpression(cx, assigned as Expression, key.value)
  writeField(cx, node, object as Expression, key.value, value)
  return value
}

function writeField(
  cx: HostLowering,
  node: CallExpression,
  object: Expression,
  name: string,
  value: Value,
): void {
  assignMember(
    cx,
    {
      type: 'MemberExpression',
      object,
      property: name.startsWith('#')
        ? { type: 'PrivateIdentifier', name: name.slice(1), start: node.start, end: node.end }
        : { type: 'Identifier', name, start: node.start, end: node.end },
      computed: false,
      optional: false,
      start: node.start,
      end: node.end,
    } as Extract<Expression, { type: 'MemberExpression' }>,
    value,
    kindOf(value),
    node.start,
    node.end,
  )
}

function lowerPrivateCall(cx: HostLowering, node: CallExpression, method: string): Value {
  const args = node.arguments
    .slice(1)
    .map((arg) =>
      arg.type === 'SpreadElement' ? lowerExpression(cx, arg.argument) : lowerExpression(cx, arg),
    )
  const site = newSite(
    cx,
    node,
    {
      callee: { kind: 'name', name: method, scope: cx.scope, path: [] },
      object: unknown,
      name: method,
    },
    args,
    false,
  )
  cx.emit(site)
  cx.unit.calls.push(site)
  cx.mayThrow()
  return { calls: [site] }
}
