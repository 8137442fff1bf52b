/** Assignments that declare: `X.prototype.m = function`, `exports.f = …`, `module.exports = …`. */
import type { AssignmentExpression, CallExpression, Expression } from 'oxc-parser'
import { lowerExpression } from './expressions.ts'
import type { HostLowering } from './host.ts'
import { isFunctionNode, keyName, unwrap } from './nodes.ts'
import type { ClassUnit, Exported } from './program.ts'
import type { Value } from './values.ts'
import { unknown } from './values.ts'

/** `X.prototype.m = function () {}` and `X.prototype = { m() {} }` make methods of X. */
export function prototypeAssignment(
  cx: HostLowering,
  node: AssignmentExpression,
): Value | undefined {
  if (cx.file.prototypes.size === 0 || node.left.type !== 'MemberExpression') return undefined
  const name = keyName(node.left.property, node.left.computed)
  if (name === undefined) return undefined
  const object = unwrap(node.left.object)
  if (object.type === 'Identifier') {
    if (name === 'prototype') return wholePrototype(cx, object.name, unwrap(node.right))
    const owner = aliasedClass(cx, object.name)
    const given = unwrap(node.right)
    if (owner === undefined || !isFunctionNode(given)) return undefined
    methodOf(cx, owner, name, given)
    return unknown
  }
  if (
    object.type !== 'MemberExpression' ||
    keyName(object.property, object.computed) !== 'prototype'
  )
    return undefined
  const root = unwrap(object.object)
  const right = unwrap(node.right)
  if (root.type !== 'Identifier' || !isFunctionNode(right)) return undefined
  method(cx, root.name, name, right)
  return unknown
}

function method(
  cx: HostLowering,
  className: string,
  name: string,
  node: Parameters<HostLowering['file']['unitOf']>[0],
): void {
  const binding = cx.scope.find(className)
  if (binding === undefined) return
  methodOf(cx, (binding.class ??= cx.file.newClass(className, 0, 0)), name, node)
}

/** `const proto = X.prototype`, and then `proto.m = function () {}`. */
function aliasedClass(cx: HostLowering, name: string): ClassUnit | undefined {
  const className = cx.file.prototypeAliases.get(name)
  const binding = className === undefined ? undefined : cx.scope.find(className)
  if (binding === undefined || className === undefined) return undefined
  return (binding.class ??= cx.file.newClass(className, 0, 0))
}

/** `Object.assign(X.prototype, { m() {} })`, and what libraries call the same. */
export function prototypeExtension(cx: HostLowering, node: CallExpression): Value | undefined {
  if (cx.file.prototypes.size === 0) return undefined
  const [first, ...parts] = node.arguments
  if (first?.type !== 'MemberExpression' || keyName(first.property, false) !== 'prototype')
    return undefined
  const root = unwrap(first.object)
  const methods = parts.filter((part) => part.type === 'ObjectExpression')
  if (root.type !== 'Identifier' || methods.length === 0) return undefined
  for (const part of methods) wholePrototype(cx, root.name, part)
  return unknown
}

function methodOf(
  cx: HostLowering,
  owner: ClassUnit,
  name: string,
  node: Parameters<HostLowering['file']['unitOf']>[0],
): void {
  const unit = cx.file.unitOf(node, cx.unit, {
    name: `prototype.${name}`,
    kind: 'method',
    class: owner,
    visibility: name.startsWith('_') ? 'private' : 'public',
  })
  owner.methods.set(name, unit)
  cx.file.enqueue(unit, cx.scope, { instanceOf: owner })
}

function wholePrototype(cx: HostLowering, className: string, right: Expression): Value | undefined {
  if (right.type !== 'ObjectExpression') return undefined
  for (const property of right.properties) {
    if (property.type !== 'Property') continue
    const name = keyName(property.key, property.computed)
    if (name !== undefined && isFunctionNode(property.value))
      method(cx, className, name, property.value)
  }
  return unknown
}

/** CommonJS exports. */
export function exportedAssignment(
  cx: HostLowering,
  node: AssignmentExpression,
): Value | undefined {
  const name = exportName(node.left as Expression)
  if (name === undefined || cx.unit.kind !== 'module') return undefined
  const value = lowerExpression(cx, node.right, name === '=' ? undefined : name)
  const right = unwrap(node.right)
  const { exports } = cx.file.file
  if (name !== '=') {
    const found = exportedBy(value, right)
    if (found !== undefined) exports.set(name, found)
    return value
  }
  const found = exportedBy(value, right)
  if (found !== undefined) exports.set('default', found)
  if (right.type === 'ObjectExpression') {
    for (const property of right.properties) {
      if (property.type !== 'Property') continue
      const key = keyName(property.key, property.computed)
      if (key !== undefined && property.value.type === 'Identifier')
        exports.set(key, { kind: 'local', name: property.value.name })
    }
    if (value.instanceOf !== undefined) {
      value.instanceOf.isExported = true
      for (const [key, unit] of value.instanceOf.methods) exports.set(key, { kind: 'unit', unit })
    }
  }
  return value
}

function exportedBy(value: Value, right: Expression): Exported | undefined {
  if (value.classRef !== undefined) return { kind: 'class', class: value.classRef }
  if (value.unit !== undefined) return { kind: 'unit', unit: value.unit }
  return right.type === 'Identifier' ? { kind: 'local', name: right.name } : undefined
}

/** `=` for the whole of `module.exports`. */
function exportName(left: Expression): string | undefined {
  if (left.type !== 'MemberExpression') return undefined
  const name = keyName(left.property, left.computed)
  const object = unwrap(left.object)
  if (object.type === 'Identifier') {
    if (object.name === 'exports') return name
    return object.name === 'module' && name === 'exports' ? '=' : undefined
  }
  return exportName(object) === '=' ? name : undefined
}
