/** Writes: to names, fields, entries and patterns. */
import type { Expression, Node } from 'oxc-parser'
import { accessMember, lowerExpression, memberLocation } from './expressions.ts'
import type { WriteKind } from './graph.ts'
import type { HostLowering } from './host.ts'
import type { Location } from './locations.ts'
import { keyName, unwrap } from './nodes.ts'
import type { Binding } from './scope.ts'
import { derived, either, partOf, unknown } from './values.ts'
import type { Value } from './values.ts'

/** Assigns to whatever a pattern names. A declaration does not count as a change. */
export function assignPattern(
  cx: HostLowering,
  pattern: Node | null,
  value: Value,
  isDeclaration: boolean,
): void {
  if (pattern === null || !cx.enter(pattern.start)) return
  switch (pattern.type) {
    case 'Identifier':
      assignName(cx, pattern.name, value, isDeclaration, pattern.start, pattern.end)
      break
    case 'MemberExpression':
      assignMember(cx, pattern, value, kindOf(value), pattern.start, pattern.end)
      break
    case 'AssignmentPattern':
      assignPattern(
        cx,
        pattern.left,
        either(value, lowerExpression(cx, pattern.right)),
        isDeclaration,
      )
      break
    case 'RestElement':
      assignPattern(cx, pattern.argument, derived(value), isDeclaration)
      break
    case 'TSParameterProperty':
      assignPattern(cx, pattern.parameter, value, isDeclaration)
      break
    case 'ArrayPattern':
      for (const [index, element] of pattern.elements.entries())
        assignPattern(cx, element, value.parts?.[index] ?? partOf(value), isDeclaration)
      break
    case 'ObjectPattern':
      for (const property of pattern.properties) {
        if (property.type === 'RestElement') {
          assignPattern(cx, property.argument, derived(value), isDeclaration)
          continue
        }
        const name = keyName(property.key, property.computed)
        const part =
          name !== undefined && (value.location !== undefined || value.instanceOf !== undefined)
            ? accessMember(cx, value, name, property.key.start, property.key.end)
            : value.fresh === 'object'
              ? unknown
              : partOf(value)
        assignPattern(cx, property.value, part, isDeclaration)
      }
      break
    case 'TSAsExpression':
    case 'TSNonNullExpression':
    case 'TSSatisfiesExpression':
    case 'TSTypeAssertion':
      assignPattern(cx, pattern.expression, value, isDeclaration)
      break
    default:
      break
  }
  cx.leave()
}

function assignName(
  cx: HostLowering,
  name: string,
  value: Value,
  isDeclaration: boolean,
  start: number,
  end: number,
  kind: WriteKind = kindOf(value),
): void {
  const binding = cx.scope.find(name)
  if (binding === undefined) return
  remember(binding, value, cx)
  const location = cx.variable(binding)
  if (location === undefined) return
  if (isDeclaration && binding.kind === 'const') return
  cx.write(location, kind, value, start, end, isDeclaration)
}

/** Records the value of a name from now on. In a loop or a second assignment it is one of several. */
function remember(binding: Binding, value: Value, cx: HostLowering): void {
  const isFirst = binding.assignments === 0
  binding.assignments++
  if (value.unit !== undefined && isFirst) binding.function ??= value.unit
  if (value.classRef !== undefined && isFirst) binding.class ??= value.classRef
  binding.value = isFirst || binding.unit.host !== cx.host ? value : either(binding.value, value)
}

/** The kind of an `=`, decided by the assigned value. */
export function kindOf(value: Value): WriteKind {
  if (value.literal === 'null' || value.literal === 'false') return 'null'
  if (value.literal === 'zero' || value.fresh === 'empty') return 'reset'
  return 'set'
}

export function assignMember(
  cx: HostLowering,
  node: Extract<Expression, { type: 'MemberExpression' }>,
  value: Value,
  kind: WriteKind,
  start: number,
  end: number,
): void {
  const object = lowerExpression(cx, node.object)
  const location = memberLocation(cx, object, node)
  if (location === undefined) return
  if (node.computed && location.scope === 'entry') {
    cx.write(location, kind === 'set' ? 'fill' : kind, value, start, end)
    return
  }
  if (node.property.type === 'Identifier' && node.property.name === 'length' && !node.computed) {
    if (object.location !== undefined) cx.write(object.location, 'reset', value, start, end)
    return
  }
  cx.write(location, kind, value, start, end)
}

/** The location that a target stands for, evaluated once: for `x += …`, `x ??= …`, `x++`. */
export interface Target {
  readonly location: Location | undefined
  readonly binding: Binding | undefined
  readonly start: number
  readonly end: number
}

export function lowerTarget(cx: HostLowering, wrapped: Node): Target {
  const node = unwrap(wrapped as Expression)
  const { start, end } = node
  if (node.type === 'Identifier') {
    const binding = cx.scope.find(node.name)
    const location = binding === undefined ? undefined : cx.variable(binding)
    return { location, binding, start, end }
  }
  if (node.type === 'MemberExpression') {
    const object = lowerExpression(cx, node.object)
    if (node.computed && object.location === undefined) lowerExpression(cx, node.property)
    return { location: memberLocation(cx, object, node), binding: undefined, start, end }
  }
  return { location: undefined, binding: undefined, start, end }
}

export function readTarget(cx: HostLowering, target: Target): Value {
  const { location, binding } = target
  if (location !== undefined) {
    const access = cx.read(location, target.start, target.end)
    return {
      location,
      reads: [access],
      ...(binding?.value.calls && { calls: binding.value.calls }),
    }
  }
  return binding?.value ?? unknown
}

export function writeTarget(cx: HostLowering, target: Target, value: Value, kind: WriteKind): void {
  if (target.binding !== undefined) remember(target.binding, value, cx)
  if (target.location === undefined) return
  const adjusted = target.location.scope === 'entry' && kind === 'set' ? 'fill' : kind
  cx.write(target.location, adjusted, value, target.start, target.end)
}
