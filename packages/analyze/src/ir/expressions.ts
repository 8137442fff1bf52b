/** Expressions: events in evaluation order, and the facts known about the result. */
import type { Expression, Function as FunctionNode, ObjectExpression } from 'oxc-parser'
import { assignPattern, kindOf, lowerTarget, readTarget, writeTarget } from './assignments.ts'
import { lowerCall, lowerHandler, lowerNew } from './calls.ts'
import { lowerClassExpression } from './classes.ts'
import { decidePresence, lowerCondition } from './conditions.ts'
import { exportedAssignment, prototypeAssignment } from './legacy-classes.ts'
import { addToBranch } from './graph.ts'
import type { HostLowering } from './host.ts'
import { isRequestScoped } from './callbacks.ts'
import type { Location } from './locations.ts'
import { isFunctionNode, keyName, unwrap } from './nodes.ts'
import type { AnyFunction } from './nodes.ts'
import { combine, derived, either, partOf, unknown } from './values.ts'
import type { CallSite } from './program.ts'
import type { Binding } from './scope.ts'
import type { LiteralKind, Value } from './values.ts'

type Kind<T extends Expression['type']> = Extract<Expression, { type: T }>

const literals: Record<LiteralKind, Value> = {
  null: { literal: 'null' },
  false: { literal: 'false' },
  true: { literal: 'true' },
  number: { literal: 'number' },
  string: { literal: 'string' },
  zero: { literal: 'zero' },
}

/** `hint` is the name the result will get, for functions and classes without one. */
export function lowerExpression(cx: HostLowering, node: Expression, hint?: string): Value {
  if (!cx.enter(node.start)) return unknown
  const value = dispatch(cx, node, hint)
  cx.leave()
  return value
}

function dispatch(cx: HostLowering, node: Expression, hint: string | undefined): Value {
  switch (node.type) {
    case 'Identifier':
      return lowerName(cx, node.name, node.start, node.end)
    case 'MemberExpression':
      return lowerMember(cx, node)
    case 'CallExpression':
      return lowerCall(cx, node)
    case 'Literal':
      return lowerLiteral(node)
    case 'ThisExpression':
      return cx.frame.thisValue
    case 'AwaitExpression':
      return awaitValue(cx, lowerAwaited(cx, node.argument), 'await', node.start, node.end)
    case 'AssignmentExpression':
      return lowerAssignment(cx, node)
    case 'BinaryExpression':
      return lowerBinary(cx, node)
    case 'LogicalExpression':
      return lowerLogical(cx, node)
    case 'ConditionalExpression':
      return lowerConditional(cx, node)
    case 'ObjectExpression':
      return lowerObject(cx, node, hint)
    case 'ArrayExpression':
      return lowerArray(cx, node)
    case 'ArrowFunctionExpression':
    case 'FunctionExpression':
    case 'FunctionDeclaration':
      return lowerFunctionValue(cx, node, hint)
    case 'NewExpression':
      return lowerNew(cx, node)
    case 'UnaryExpression':
      return lowerUnary(cx, node)
    case 'UpdateExpression':
      return lowerUpdate(cx, node)
    case 'TSNonNullExpression':
      return lowerAsserted(cx, node)
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
    case 'TSTypeAssertion':
    case 'TSInstantiationExpression':
    case 'ParenthesizedExpression':
    case 'ChainExpression':
      return lowerExpression(cx, node.expression, hint)
    case 'SequenceExpression':
      return lowerAll(cx, node.expressions)
    case 'TemplateLiteral':
      return lowerTemplate(cx, node)
    case 'TaggedTemplateExpression':
      return combine(lowerExpression(cx, node.tag), lowerTemplate(cx, node.quasi))
    case 'YieldExpression':
      return lowerYield(cx, node)
    case 'ClassExpression':
    case 'ClassDeclaration':
      return lowerClassExpression(cx, node, hint)
    case 'ImportExpression':
      lowerExpression(cx, node.source)
      return unknown
    default:
      return unknown
  }
}

function lowerLiteral(node: Kind<'Literal'>): Value {
  const { value } = node
  if (value === null) return 'regex' in node || 'bigint' in node ? unknown : literals.null
  if (value === false) return literals.false
  if (value === true) return literals.true
  if (typeof value === 'number') return value === 0 ? literals.zero : literals.number
  if (typeof value === 'string') return value === '' ? literals.zero : literals.string
  return unknown
}

/** The answer of a function of the program that does not wait: an object that others may have as well. */
function isHandedOut({ calls, location, constructed, fresh, isAwaited, parts }: Value): boolean {
  return (
    calls?.length === 1 &&
    !calls[0]!.isNew &&
    calls[0]!.callee.kind === 'name' &&
    calls[0]!.callee.path.length === 0 &&
    location === undefined &&
    constructed === undefined &&
    fresh === undefined &&
    parts === undefined &&
    isAwaited !== true
  )
}

/** The one call whose answer the name holds: `const x = await this.get()`, `.then((x) => …)`. */
function answererOf({ kind, value }: Binding): CallSite | undefined {
  if (kind !== 'const' && kind !== 'param') return undefined
  const { calls, location, constructed, fresh, parts } = value
  const [site] = calls ?? []
  return calls?.length === 1 &&
    site?.isNew === false &&
    (site.callee.kind === 'method' || site.callee.kind === 'name') &&
    location === undefined &&
    constructed === undefined &&
    fresh === undefined &&
    parts === undefined
    ? site
    : undefined
}

function lowerName(cx: HostLowering, name: string, start: number, end: number): Value {
  if (name === 'undefined') return literals.null
  const binding = cx.scope.find(name)
  if (binding === undefined) return unknown
  // Fields of the class itself are kept with those of its objects: `Pool.instance`.
  if (binding.class !== undefined && binding.kind === 'class')
    return { instanceOf: binding.class, classRef: binding.class }
  const location = cx.variable(binding)
  if (location === undefined) {
    if (binding.kind === 'const' && isHandedOut(binding.value))
      return { ...binding.value, location: cx.file.table.parameter(binding.unit, name, binding.id) }
    const answeredBy = answererOf(binding)
    if (answeredBy !== undefined)
      return {
        ...binding.value,
        location: cx.file.table.parameter(binding.unit, name, binding.id, undefined, answeredBy),
      }
    if (binding.kind !== 'param' || binding.value !== unknown) return binding.value
    if (isRequestScoped(name, binding.typeName)) return unknown
    return { location: cx.file.table.parameter(binding.unit, name, binding.id, binding.typeName) }
  }
  const { value } = binding
  // An alias of something else stays one: `const self = this`, `const map = this.map`.
  if (binding.kind === 'const' && (value.location ?? value.instanceOf) !== undefined) return value
  if (binding.kind === 'const' && value.unit !== undefined) return value
  const access = cx.read(location, start, end)
  if (value === unknown) return { location, reads: [access] }
  return {
    location,
    reads: [access],
    ...(value.unit !== undefined && { unit: value.unit }),
    ...(value.instanceOf !== undefined && { instanceOf: value.instanceOf }),
    ...(value.constructed !== undefined && { constructed: value.constructed }),
  }
}

function lowerMember(cx: HostLowering, node: Kind<'MemberExpression'>): Value {
  const object = lowerExpression(cx, node.object)
  const name = keyName(node.property, node.computed)
  if (name !== undefined) return accessMember(cx, object, name, node.start, node.end)
  lowerExpression(cx, node.property as Expression)
  const location = memberLocation(cx, object, node)
  if (location === undefined) return derived(object)
  const access = cx.read(location, node.start, node.end)
  return { location, reads: [access] }
}

/** Reads a named field. */
export function accessMember(
  cx: HostLowering,
  object: Value,
  name: string,
  start: number,
  end: number,
): Value {
  if ((name === 'length' || name === 'size') && object.location !== undefined) {
    const access = cx.read(object.location, start, end)
    return { reads: [access] }
  }
  const location = fieldLocation(cx, object, name)
  // In an object that was built here, one field says nothing about the others.
  if (location === undefined) return object.fresh === 'object' ? unknown : partOf(object)
  const access = cx.read(location, start, end)
  const reads = object.reads === undefined ? [access] : [access, ...object.reads.slice(0, 3)]
  // A part of a call's result comes from the call as well.
  return object.calls === undefined
    ? { location, reads }
    : { ...derived({ ...object, reads }), location }
}

function fieldLocation(cx: HostLowering, object: Value, name: string): Location | undefined {
  if (object.instanceOf !== undefined) return cx.file.table.instance(object.instanceOf, name)
  if (object.location !== undefined) return cx.file.table.field(object.location, name)
  return undefined
}

/** Where a member expression points, its object being lowered already. */
export function memberLocation(
  cx: HostLowering,
  object: Value,
  node: Kind<'MemberExpression'>,
): Location | undefined {
  const name = keyName(node.property, node.computed)
  if (name !== undefined) return fieldLocation(cx, object, name)
  const key = node.property as Expression
  const constant = constantKey(cx, key)
  if (constant !== undefined) return fieldLocation(cx, object, constant)
  if (object.location === undefined) return undefined
  return entryOf(cx, object.location, key)
}

/** `obj[kState]` with a constant of the module is a field with an unusual name. */
function constantKey(cx: HostLowering, wrapped: Expression): string | undefined {
  const key = unwrap(wrapped)
  if (key.type === 'Identifier') {
    const binding = cx.scope.find(key.name)
    if (binding === undefined) return undefined
    if (binding.kind === 'import') return `[${key.name}]`
    return binding.unit.kind === 'module' && binding.kind === 'const' ? `[${key.name}]` : undefined
  }
  if (key.type !== 'MemberExpression' || key.computed) return undefined
  const root = unwrap(key.object)
  return root.type === 'Identifier' &&
    (root.name === 'Symbol' || cx.scope.find(root.name)?.kind === 'import') &&
    key.property.type === 'Identifier'
    ? `[${root.name}.${key.property.name}]`
    : undefined
}

export function entryOf(cx: HostLowering, container: Location, key: Expression): Location {
  const text = cx.file.file.parsed.text.slice(key.start, Math.min(key.end, key.start + 40))
  return cx.file.table.entry(container, keyNumber(cx, key), text)
}

/** The same number is the same value; undefined when the text does not say. */
export function keyNumber(cx: HostLowering, wrapped: Expression): string | undefined {
  const node = unwrap(wrapped)
  switch (node.type) {
    case 'Literal':
      // JSON has neither big integers nor regular expressions.
      return typeof node.value === 'string' ? JSON.stringify(node.value) : (node.raw ?? undefined)
    case 'ThisExpression':
      return 'this'
    case 'Identifier': {
      const binding = cx.scope.find(node.name)
      if (binding === undefined) return undefined
      // A constant of the module is one key for all callers.
      const isConstant = binding.kind === 'const' && binding.unit.kind === 'module'
      return `${isConstant || binding.kind === 'import' ? 'c' : 'b'}${binding.id}`
    }
    case 'MemberExpression': {
      const name = keyName(node.property, node.computed)
      const object = name === undefined ? undefined : keyNumber(cx, node.object)
      return object === undefined ? undefined : `${object}.${name}`
    }
    case 'TemplateLiteral': {
      const parts = node.expressions.map((part) => keyNumber(cx, part))
      return parts.includes(undefined)
        ? undefined
        : `t(${node.quasis.map((quasi) => quasi.value.raw).join('$')}:${parts.join(',')})`
    }
    case 'BinaryExpression': {
      if (node.left.type === 'PrivateIdentifier') return undefined
      const left = keyNumber(cx, node.left)
      const right = keyNumber(cx, node.right)
      return left === undefined || right === undefined
        ? undefined
        : `(${left}${node.operator}${right})`
    }
    case 'CallExpression': {
      const callee = keyNumber(cx, node.callee)
      const args = node.arguments.map((one) =>
        one.type === 'SpreadElement' ? undefined : keyNumber(cx, one),
      )
      return callee === undefined || args.includes(undefined)
        ? undefined
        : `${callee}(${args.join(',')})`
    }
    default:
      return undefined
  }
}

/** `await cache.get(key)` asks a store that answers later, not a map. */
function lowerAwaited(cx: HostLowering, argument: Expression): Value {
  const inner = unwrap(argument)
  return inner.type === 'CallExpression' ? lowerCall(cx, inner, true) : lowerExpression(cx, inner)
}

export function awaitValue(
  cx: HostLowering,
  value: Value,
  kind: 'await' | 'yield',
  start: number,
  end: number,
): Value {
  const joins = value.calls ?? []
  for (const call of joins) {
    call.isJoined = true
    call.isAwaited = true
  }
  cx.suspend(kind, start, end, joins, value.reads)
  if (value.tail !== undefined) {
    // The following code runs after the continuations, not beside them.
    if (value.isTailOptional !== true) cx.unreachable()
    cx.link(value.tail, cx.current)
  }
  // The result of a remote call is not a read of its arguments.
  const reads =
    joins.length > 0
      ? value.reads?.filter((access) => access.location.scope === 'external')
      : value.reads
  return {
    isAwaited: true,
    ...(joins.length > 0 && { calls: joins }),
    ...(reads !== undefined && reads.length > 0 && { reads }),
    ...(value.constructed !== undefined && { constructed: value.constructed }),
  }
}

function lowerYield(cx: HostLowering, node: Kind<'YieldExpression'>): Value {
  const value = node.argument === null ? unknown : lowerAwaited(cx, node.argument)
  return awaitValue(cx, value, 'yield', node.start, node.end)
}

function lowerAssignment(cx: HostLowering, node: Kind<'AssignmentExpression'>): Value {
  const { operator } = node
  if (operator === '=') {
    const special =
      prototypeAssignment(cx, node) ?? exportedAssignment(cx, node) ?? lowerHandler(cx, node)
    if (special !== undefined) return special
    const left = node.left.type === 'MemberExpression' ? node.left.property : node.left
    const name =
      left.type === 'Identifier'
        ? left.name
        : left.type === 'PrivateIdentifier'
          ? `#${left.name}`
          : undefined
    const value = lowerExpression(cx, node.right, name)
    assignPattern(cx, node.left, value, false)
    return value
  }
  const target = lowerTarget(cx, node.left)
  const old = readTarget(cx, target)
  if (operator === '??=' || operator === '||=' || operator === '&&=') {
    const assign = cx.block()
    const after = cx.block()
    const [yes, no] = operator === '&&=' ? [assign, after] : [after, assign]
    const branch = cx.newBranch(yes, no, node.start, node.end, false)
    addToBranch(branch, cx.current)
    decidePresence(old, yes, no, branch, node.left)
    cx.current.branch = branch
    cx.link(cx.current, assign)
    cx.link(cx.current, after)
    cx.current = assign
    const value = lowerExpression(cx, node.right)
    writeTarget(cx, target, value, kindOf(value))
    cx.jumpTo(after)
    return either(old, value)
  }
  const value = lowerExpression(cx, node.right)
  const result = combine(old, value)
  writeTarget(cx, target, result, 'rmw')
  return result
}

/** Long sums are lists, not towers. */
function lowerBinary(cx: HostLowering, node: Kind<'BinaryExpression'>): Value {
  const rights: Expression[] = []
  let left: Expression = node
  while (left.type === 'BinaryExpression' && left.left.type !== 'PrivateIdentifier') {
    rights.push(left.right)
    left = left.left
  }
  if (node.operator === 'in' && node.left.type !== 'PrivateIdentifier') {
    const object = lowerExpression(cx, node.right)
    if (object.location === undefined) return derived(object)
    const access = cx.read(entryOf(cx, object.location, node.left), node.start, node.end)
    return { reads: [access] }
  }
  let value = lowerExpression(cx, left === (node as Expression) ? node.right : left)
  for (const right of rights.reverse()) value = combine(value, lowerExpression(cx, right))
  return derived(value)
}

function isSimple(node: Expression): boolean {
  const inner = unwrap(node)
  switch (inner.type) {
    case 'Literal':
    case 'Identifier':
    case 'ThisExpression':
    case 'ObjectExpression':
      return inner.type !== 'ObjectExpression' || inner.properties.length === 0
    case 'ArrayExpression':
      return inner.elements.length === 0
    case 'MemberExpression':
      return !inner.computed && isSimple(inner.object)
    default:
      return false
  }
}

function lowerLogical(cx: HostLowering, node: Kind<'LogicalExpression'>): Value {
  if (isSimple(node.right)) {
    const left = lowerExpression(cx, node.left)
    return either(left, lowerExpression(cx, node.right))
  }
  const right = cx.block()
  const after = cx.block()
  if (node.operator === '??') {
    const left = lowerExpression(cx, node.left)
    const branch = cx.newBranch(after, right, node.start, node.end, false)
    addToBranch(branch, cx.current)
    decidePresence(left, after, right, branch, node.left)
    cx.current.branch = branch
    cx.link(cx.current, after)
    cx.link(cx.current, right)
    cx.current = right
    const value = lowerExpression(cx, node.right)
    cx.jumpTo(after)
    return either(left, value)
  }
  const [yes, no] = node.operator === '&&' ? [right, after] : [after, right]
  lowerCondition(cx, node.left, yes, no)
  cx.current = right
  const value = lowerExpression(cx, node.right)
  cx.jumpTo(after)
  return value
}

function lowerConditional(cx: HostLowering, first: Kind<'ConditionalExpression'>): Value {
  const after = cx.block()
  let result = unknown
  let node: Expression = first
  while (node.type === 'ConditionalExpression') {
    const yes = cx.block()
    const no = cx.block()
    lowerCondition(cx, node.test, yes, no)
    cx.current = yes
    result = either(result, lowerExpression(cx, node.consequent))
    cx.link(cx.current, after)
    cx.current = no
    node = unwrap(node.alternate)
  }
  result = either(result, lowerExpression(cx, node))
  cx.jumpTo(after)
  return result
}

function lowerUnary(cx: HostLowering, node: Kind<'UnaryExpression'>): Value {
  if (node.operator === 'delete') {
    const target = lowerTarget(cx, node.argument)
    if (target.location !== undefined)
      cx.write(target.location, 'drop', unknown, node.start, node.end)
    return unknown
  }
  const value = lowerExpression(cx, node.argument)
  if (node.operator === 'void') {
    for (const call of value.calls ?? []) call.isDetached = true
    return literals.null
  }
  if (node.operator === '!' && node.argument.type === 'Literal')
    return node.argument.value === 0 ? literals.true : literals.false
  return derived(value)
}

function lowerUpdate(cx: HostLowering, node: Kind<'UpdateExpression'>): Value {
  const target = lowerTarget(cx, node.argument)
  const old = readTarget(cx, target)
  writeTarget(cx, target, derived(old), 'rmw')
  return derived(old)
}

function lowerAsserted(cx: HostLowering, node: Kind<'TSNonNullExpression'>): Value {
  const value = lowerExpression(cx, node.expression)
  const last = value.reads?.[0]
  if (last !== undefined) last.isAsserted = true
  return value
}

function lowerTemplate(cx: HostLowering, node: Kind<'TemplateLiteral'>): Value {
  let value = unknown
  for (const part of node.expressions) value = combine(value, lowerExpression(cx, part))
  return derived(value)
}

function lowerAll(cx: HostLowering, nodes: readonly Expression[]): Value {
  let value = unknown
  for (const node of nodes) value = lowerExpression(cx, node)
  return value
}

function lowerArray(cx: HostLowering, node: Kind<'ArrayExpression'>): Value {
  if (node.elements.length === 0) return { fresh: 'empty' }
  const parts = node.elements.map((element) =>
    element === null
      ? unknown
      : derivedSpread(
          lowerExpression(cx, element.type === 'SpreadElement' ? element.argument : element),
          element.type === 'SpreadElement',
        ),
  )
  let all = unknown
  for (const part of parts) all = combine(all, part)
  return { ...all, fresh: 'object', parts }
}

function derivedSpread(value: Value, isSpread: boolean): Value {
  return isSpread ? derived(value) : value
}

function lowerObject(cx: HostLowering, node: ObjectExpression, hint: string | undefined): Value {
  if (node.properties.length === 0) return { fresh: 'empty' }
  const hasMethods = node.properties.some(
    (one) => one.type === 'Property' && one.value.type === 'FunctionExpression',
  )
  const owner = hasMethods
    ? cx.file.classOf(node, () =>
        cx.file.newClass(hint ?? `${cx.unit.namedAs}.object`, node.start, node.end),
      )
    : undefined
  let all = unknown
  for (const property of node.properties) {
    if (property.type === 'SpreadElement') {
      all = combine(all, derived(lowerExpression(cx, property.argument)))
      continue
    }
    const name = keyName(property.key, property.computed)
    if (property.computed) lowerExpression(cx, property.key as Expression)
    if (isFunctionNode(property.value)) {
      const unit = cx.file.unitOf(property.value, cx.unit, {
        name: name ?? '<computed>',
        kind: 'method',
        class: property.value.type === 'FunctionExpression' ? owner : undefined,
        visibility: 'public',
      })
      if (owner !== undefined && name !== undefined) owner.methods.set(name, unit)
      cx.file.enqueue(unit, cx.scope, cx.frame.thisValue)
    } else all = combine(all, lowerExpression(cx, property.value, name))
  }
  return { ...all, fresh: 'object', ...(owner !== undefined && { instanceOf: owner }) }
}

/** A function that is not run here. It gets a graph of its own. */
export function lowerFunctionValue(
  cx: HostLowering,
  node: AnyFunction | FunctionNode,
  hint: string | undefined,
): Value {
  if (node.body === null) return unknown
  const unit = cx.file.unitOf(node, cx.unit, {
    name: node.id?.name ?? hint,
    kind: 'function',
    class:
      node.type === 'ArrowFunctionExpression'
        ? undefined
        : prototypeClass(cx, node.id?.name ?? hint),
    visibility: 'local',
  })
  cx.file.enqueue(unit, cx.scope, cx.frame.thisValue)
  return { unit }
}

/** `function X() {}` with an `X.prototype` in the file is a constructor. */
function prototypeClass(cx: HostLowering, name: string | undefined) {
  if (name === undefined || !cx.file.prototypes.has(name)) return undefined
  const binding = cx.scope.find(name)
  if (binding === undefined) return undefined
  return (binding.class ??= cx.file.newClass(name, 0, 0))
}
