/**
 * Calls: the callee, the functions passed to it, and where those functions run.
 *
 * The order inside one call: object, arguments, effects on a container, the call itself, callbacks
 * that run before it returns. Callbacks that run later are entered from where this region ends.
 */
import type {
  AssignmentExpression,
  CallExpression,
  Expression,
  NewExpression,
  Node,
} from 'oxc-parser'
import { roleOf, startsMany } from './callbacks.ts'
import { containerEffects } from './containers.ts'
import { lowerHelper } from './downlevel.ts'
import { lowerExpression } from './expressions.ts'
import { lowerExternalEffect } from './externals.ts'
import { noChecks } from './graph.ts'
import { givenBy } from './given-functions.ts'
import { guardOf } from './guard-calls.ts'
import type { HostLowering } from './host.ts'
import { inlineInto } from './inline.ts'
import { prototypeExtension } from './legacy-classes.ts'
import { isFunctionNode, keyName, namesAfterRoot, noNames, rootNameOf, unwrap } from './nodes.ts'
import type { AnyFunction } from './nodes.ts'
import type { Callee, CallbackRole, CallbackUse, CallSite, FunctionUnit } from './program.ts'
import { answered, combine, unknown } from './values.ts'
import type { Value } from './values.ts'

interface Span {
  readonly start: number
  readonly end: number
}

interface Target {
  readonly callee: Callee
  readonly object: Value
  readonly name: string
  readonly objectText: string
}

export function lowerCall(cx: HostLowering, node: CallExpression, isAwaited = false): Value {
  let callee = unwrap(node.callee)
  if (callee.type === 'SequenceExpression') callee = unwrap(callee.expressions.at(-1)!)
  const helped = lowerHelper(cx, node, callee) ?? prototypeExtension(cx, node)
  if (helped !== undefined) return helped
  if (callee.type === 'MemberExpression') {
    const name = keyName(callee.property, callee.computed)
    const object = unwrap(callee.object)
    if (name === 'then' || name === 'catch' || name === 'finally')
      return lowerContinuation(cx, node, object, name)
    if (name === 'call' || name === 'apply') {
      if (object.type === 'MemberExpression' || object.type === 'Identifier')
        return lowerCallOf(cx, node, object, node.arguments.slice(1), isAwaited)
    }
    if (name === 'bind') {
      const value = lowerExpression(cx, object)
      for (const one of node.arguments) lowerArgument(cx, one)
      return { ...value }
    }
    if (object.type === 'Identifier' && object.name === 'Promise' && name !== undefined)
      return lowerPromiseStatic(cx, node)
  }
  if (isFunctionNode(callee)) return lowerImmediate(cx, node, callee)
  return lowerCallOf(cx, node, callee, node.arguments, isAwaited)
}

function lowerArgument(cx: HostLowering, node: Node): Value {
  return lowerExpression(cx, (node.type === 'SpreadElement' ? node.argument : node) as Expression)
}

function lowerCallOf(
  cx: HostLowering,
  node: CallExpression,
  callee: Expression,
  args: readonly Node[],
  isAwaited: boolean,
): Value {
  const target = lowerCallee(cx, callee)
  const { values, functions } = lowerArguments(cx, args)
  const site = newSite(cx, node, target, values, false)
  for (const { calls } of values)
    if (calls !== undefined) for (const call of calls) call.isJoined = true
  const effect =
    containerEffects(cx, target.object, target.name, args, values, isAwaited, node) ??
    lowerExternalEffect(cx, callee, target.name, args, isAwaited, node)
  const guard = guardOf(cx, target, callee, args, values)
  if (guard?.op === 'release') cx.emit({ ...guard, op: 'release', ...spanOf(cx, node) })
  emitCall(cx, site, target.object)
  let result: Value = resultOf(site, target.object, values, effect)
  for (const one of functions) {
    const isGuarded = guard?.op === 'scoped' && one.index === functions.at(-1)?.index
    const role = isGuarded ? 'guarded' : roleIn(cx, target, one, values, isAwaited)
    const use = { ...one, role }
    result = runCallback(cx, site, use, result, guard?.op === 'scoped' ? guard : undefined)
  }
  if (guard === undefined) result = runReferences(cx, site, target, args, values, result)
  if (guard?.op === 'acquire') cx.emit({ ...guard, op: 'acquire', ...spanOf(cx, node) })
  return result
}

function spanOf(cx: HostLowering, { start, end }: CallExpression) {
  return { owner: cx.unit, start, end }
}

/** How the function that is handed over is run. */
function roleIn(
  cx: HostLowering,
  { name, objectText }: Target,
  { index, node: given }: InlineFunction,
  values: readonly Value[],
  isAwaited: boolean,
): CallbackRole {
  const isOwn = objectText === '' || objectText === 'this'
  // Code of an async function after its first await has run only when a caller awaits it.
  if (isOwn && (!given.async || isAwaited) && cx.file.ownCallbacks.runsAtOnce(name, index))
    return 'sync'
  const named = roleOf(name, objectText, values[0]?.literal === 'string')
  return named === 'sync' && takesError(given) ? 'later' : named
}

/** `(err, rows) => …` is called with an answer, whatever the callee is named. */
function takesError(fn: AnyFunction): boolean {
  const [first] = fn.params
  if (first?.type !== 'Identifier') return false
  return /^(?:err|error)$/.test(first.name) || (first.name === 'e' && fn.params.length > 1)
}

function resultOf(site: CallSite, object: Value, values: readonly Value[], effect?: Value): Value {
  let reads = effect ?? (object.reads === undefined ? unknown : { reads: object.reads })
  if (effect === undefined)
    for (const value of values)
      if (value.reads !== undefined) reads = combine(reads, { reads: value.reads })
  return reads === unknown ? { calls: [site] } : { ...reads, calls: [site] }
}

function emitCall(cx: HostLowering, site: CallSite, object: Value): void {
  const read = object.reads?.[0]
  if (read !== undefined && read.location === object.location) read.use ??= site
  cx.emit(site)
  cx.unit.calls.push(site)
  cx.mayThrow()
}

interface InlineFunction {
  readonly index: number
  readonly node: AnyFunction
  /** Start of the argument, when the function has a name and is written elsewhere. */
  readonly at?: number
}

interface Arguments {
  readonly values: readonly Value[]
  readonly functions: readonly InlineFunction[]
}

const noArguments: Arguments = { values: [], functions: [] }

function lowerArguments(cx: HostLowering, args: readonly Node[]): Arguments {
  if (args.length === 0) return noArguments
  const values: Value[] = args.map(() => unknown)
  const functions: InlineFunction[] = []
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]!
    const inner = arg.type === 'SpreadElement' ? arg.argument : (arg as Expression)
    const given = inner.type === 'Identifier' ? givenBy(cx, inner.name) : undefined
    if (isFunctionNode(inner)) functions.push({ index, node: inner })
    else if (given !== undefined)
      functions.push({ index, node: given.node as AnyFunction, at: inner.start })
    else values[index] = lowerExpression(cx, inner)
  }
  return { values, functions }
}

function lowerCallee(cx: HostLowering, callee: Expression): Target {
  if (callee.type === 'Identifier') {
    const binding = cx.scope.find(callee.name)
    // A name that is assigned again and again is also a shared location that is read here.
    const object =
      binding !== undefined && binding.assignments > 1 ? lowerExpression(cx, callee) : unknown
    return {
      callee: { kind: 'name', name: callee.name, scope: cx.scope, path: noNames },
      object: object.unit === undefined ? object : unknown,
      name: callee.name,
      objectText: '',
    }
  }
  if (callee.type === 'Super')
    return { callee: { kind: 'unknown' }, object: unknown, name: 'super', objectText: '' }
  if (callee.type !== 'MemberExpression') {
    const value = lowerExpression(cx, callee)
    const found: Callee =
      value.unit === undefined ? { kind: 'unknown' } : { kind: 'unit', unit: value.unit }
    return { callee: found, object: value, name: '', objectText: '' }
  }
  return lowerMemberCallee(cx, callee)
}

function lowerMemberCallee(
  cx: HostLowering,
  callee: Extract<Expression, { type: 'MemberExpression' }>,
): Target {
  const name = keyName(callee.property, callee.computed) ?? ''
  const { text } = cx.file.file.parsed
  const inner = unwrap(callee.object)
  const objectText = text.slice(Math.max(inner.start, inner.end - 24), inner.end)
  if (inner.type === 'Super') {
    const owner = cx.frame.thisValue.instanceOf
    const found: Callee =
      owner === undefined
        ? { kind: 'unknown' }
        : { kind: 'method', class: owner, path: [name], isSuper: true }
    return { callee: found, object: unknown, name, objectText }
  }
  const rootName = rootNameOf(callee)
  const root = rootName === undefined ? undefined : cx.scope.find(rootName)
  const isNamed =
    rootName !== undefined &&
    (root === undefined ||
      root.kind === 'import' ||
      root.class !== undefined ||
      root.module !== undefined)
  if (isNamed) {
    const path = namesAfterRoot(callee)
    // `cache.get(key)` with a cache of another module is also a read of that cache.
    const isState = root?.kind === 'import' && path.length === 1 && root.import?.name !== 'default'
    return {
      callee: { kind: 'name', name: rootName, scope: cx.scope, path },
      object: isState ? lowerExpression(cx, callee.object) : unknown,
      name,
      objectText,
    }
  }
  const object = lowerExpression(cx, callee.object)
  if (callee.computed) lowerExpression(cx, callee.property)
  const found: Callee =
    object.instanceOf !== undefined && name !== ''
      ? { kind: 'method', class: object.instanceOf, path: [name], isSuper: false }
      : { kind: 'member', receiver: object, name }
  return { callee: found, object, name, objectText }
}

/** Shared by all calls that have none: most have none. */
export const noCallbacks: readonly CallbackUse[] = []
export const noTargets: readonly FunctionUnit[] = []

export function addCallback(site: CallSite, use: CallbackUse): void {
  site.callbacks = [...site.callbacks, use]
}

export function newSite(
  cx: HostLowering,
  node: { readonly start: number; readonly end: number },
  target: Pick<Target, 'callee' | 'object' | 'name'>,
  args: readonly Value[],
  isNew: boolean,
): CallSite {
  return {
    op: 'call',
    owner: cx.unit,
    start: node.start,
    end: node.end,
    callee: target.callee,
    name: target.name,
    receiver: target.object.location,
    args,
    isNew,
    isJoined: false,
    isAwaited: false,
    isReturned: false,
    isFloating: false,
    isDiscarded: false,
    isDetached: false,
    callbacks: noCallbacks,
    checks: noChecks,
    targets: noTargets,
    isGuess: false,
    isSpliced: false,
    external: undefined,
  }
}

interface Use extends InlineFunction {
  readonly role: CallbackRole
}

function callbackUnit(cx: HostLowering, node: AnyFunction, role: CallbackRole): FunctionUnit {
  const unit = cx.file.unitOf(node, cx.unit, {
    name: node.id?.name,
    kind: 'callback',
    visibility: 'local',
  })
  unit.host = cx.host
  unit.role = role
  return unit
}

/** Lowers a function that is written as an argument into this graph. */
function runCallback(
  cx: HostLowering,
  site: CallSite,
  use: Use,
  result: Value,
  guard: { readonly guard: string; readonly key: string | undefined } | undefined,
): Value {
  const isMany = use.role === 'sync' && use.node.async && startsMany(site.name)
  const role = isMany ? 'sync-async' : use.role
  const unit = callbackUnit(cx, use.node, role)
  const { at } = use
  addCallback(site, { index: use.index, unit, role, ...(at !== undefined && { at }) })
  if (role === 'sync') {
    const before = cx.current
    const entry = cx.inLoop(() => cx.block())
    const after = cx.block()
    cx.link(before, entry)
    cx.link(before, after)
    cx.current = entry
    cx.inLoop(() => inlineInto(cx, unit, use.node, after, cx.frame.handler))
    cx.current = after
    return result
  }
  if (role === 'sync-async') {
    const before = cx.current
    const entry = cx.inLoop(() => cx.block())
    const after = cx.block()
    const end = cx.block()
    cx.link(before, entry)
    cx.link(before, after)
    cx.current = entry
    cx.inLoop(() => inlineInto(cx, unit, use.node, end, undefined))
    cx.current = after
    return { ...result, tail: end, isTailOptional: true }
  }
  const entry = cx.laterEntry()
  const before = cx.current
  const end = cx.block()
  cx.current = entry
  const joins = role === 'later' ? [site] : []
  const handedOver = at ?? Math.min(site.end, use.node.start)
  cx.suspend('continuation', site.start, handedOver, joins)
  const span = { owner: cx.unit, start: site.start, end: handedOver }
  if (guard !== undefined) cx.emit({ ...guard, op: 'acquire', isScoped: true, ...span })
  // `(error, answer) => …`: a branch of the callback depends on the result of the call.
  const answer = role === 'later' ? answered({ ...result, calls: [site] }) : unknown
  inlineInto(cx, unit, use.node, end, undefined, answer)
  if (guard !== undefined) {
    cx.current = end
    cx.emit({ ...guard, op: 'release', isScoped: true, ...span })
    const released = cx.advance()
    cx.current = before
    return { ...result, tail: released }
  }
  cx.current = before
  return role === 'later' ? { ...result, tail: end, isTailOptional: true } : result
}

/** `p.then(f, g)`: f runs when p is settled, and callbacks on its result run after f. */
function lowerContinuation(
  cx: HostLowering,
  node: CallExpression,
  objectNode: Expression,
  name: 'then' | 'catch' | 'finally',
): Value {
  const object = lowerExpression(cx, objectNode)
  const { values, functions } = lowerArguments(cx, node.arguments)
  const joins = object.isAwaited === true ? [] : (object.calls ?? [])
  for (const call of joins) {
    call.isJoined = true
    if (name === 'catch') call.isDetached = true
  }
  const site = newSite(
    cx,
    node,
    { callee: { kind: 'unknown' }, object: unknown, name },
    values,
    false,
  )
  cx.unit.calls.push(site)
  const entry = object.tail === undefined ? cx.laterEntry() : cx.block()
  if (object.tail !== undefined) cx.link(object.tail, entry)
  const before = cx.current
  cx.current = entry
  cx.suspend('continuation', node.start, node.end, joins)
  const settled = cx.current
  const end = cx.block()
  if (name !== 'then' || functions.length + values.length > 1) cx.link(settled, end)
  for (const one of functions) {
    const unit = callbackUnit(cx, one.node, 'later')
    addCallback(site, { index: one.index, unit, role: 'later' })
    cx.current = settled
    cx.advance()
    inlineInto(cx, unit, one.node, end, undefined, one.index === 0 ? answered(object) : unknown)
  }
  if (functions.length === 0) {
    cx.current = settled
    callByReference(cx, node, values)
    cx.link(cx.current, end)
  }
  cx.current = before
  return { tail: end, ...(object.reads !== undefined && { reads: object.reads }) }
}

/** `.then(this.load)`: the function is called when we get here. */
function callByReference(cx: HostLowering, node: Span, values: readonly Value[]): void {
  for (const value of values) {
    const { unit, location } = value
    const callee = referenced(value)
    if (callee === undefined) continue
    const name = unit?.name ?? location?.field ?? ''
    const site = newSite(cx, node, { callee, object: unknown, name }, [], false)
    cx.emit(site)
    cx.unit.calls.push(site)
    site.isJoined = true
    cx.suspend('call', node.start, node.end, [site])
  }
}

/** Resolves a value to the function it refers to: `load`, `this.load`, `this.load.bind(this)`. */
function referenced({ unit, location }: Value): Callee | undefined {
  if (unit !== undefined) return { kind: 'unit', unit }
  return location?.scope === 'instance' && location.class !== undefined && location.depth === 1
    ? { kind: 'method', class: location.class, path: [location.field], isSuper: false }
    : undefined
}

/**
 * Adds the calls of functions that are passed by name and run later, as in `fs.stat(file, this.#onStat)` or
 * `socket.on('close', onClose)`. They are entered from the end of this region, like callbacks that are written inline.
 */
function runReferences(
  cx: HostLowering,
  site: CallSite,
  { name, objectText }: Target,
  args: readonly Node[],
  values: readonly Value[],
  result: Value,
): Value {
  let answer = result
  for (const [index, value] of values.entries()) {
    const given = ownFunction(value)
    if (given === undefined) continue
    const role = roleOf(name, objectText, values[0]?.literal === 'string')
    if (role === 'sync' || role === 'guarded' || role === 'request') continue
    // Only the last argument of an unknown function is taken for a callback.
    if (role === 'later' && index !== values.length - 1) continue
    const entry = cx.laterEntry()
    const before = cx.current
    const end = cx.block()
    // A function without parameters takes no answer: it is registered, and runs at any time.
    const isAnswered = role === 'later' && given.params.length > 0
    cx.current = entry
    cx.suspend('continuation', site.start, args[index]!.start, isAnswered ? [site] : [])
    callByReference(cx, args[index]!, [value])
    cx.link(cx.current, end)
    cx.current = before
    if (isAnswered) answer = { ...answer, tail: end, isTailOptional: true }
  }
  return answer
}

/** A method of a class of this file, or a function that another function declares. */
function ownFunction({ unit, location }: Value): FunctionUnit | undefined {
  if (unit !== undefined)
    return unit.parent === undefined || unit.parent.kind === 'module' ? undefined : unit
  if (location?.scope !== 'instance' || location.depth !== 1) return undefined
  const method = location.class?.methods.get(location.field)
  return method?.kind === 'method' ? method : undefined
}

/** `socket.onclose = () => …` is another way to write `socket.on('close', () => …)`. */
export function lowerHandler(cx: HostLowering, node: AssignmentExpression): Value | undefined {
  const { left, right } = node
  if (left.type !== 'MemberExpression' || left.computed || !isFunctionNode(right)) return undefined
  const name = keyName(left.property, false)
  if (name === undefined || !/^on[a-z]+$/.test(name)) return undefined
  const inner = unwrap(left.object)
  // Exports and own fields with such a name are called by the users of this code.
  if (inner.type === 'ThisExpression' || rootNameOf(inner) === 'exports') return undefined
  const object = lowerExpression(cx, left.object)
  if (object.instanceOf !== undefined) return undefined
  const target: Target = {
    callee: { kind: 'member', receiver: object, name },
    object,
    name,
    objectText: '',
  }
  const site = newSite(cx, node, target, [unknown], false)
  emitCall(cx, site, object)
  return runCallback(cx, site, { index: 0, node: right, role: 'event' }, unknown, undefined)
}

/** `Promise.all([...])` and its relatives settle with their arguments. */
function lowerPromiseStatic(cx: HostLowering, node: CallExpression): Value {
  const calls = new Set<CallSite>()
  let tail: Value['tail']
  for (const arg of node.arguments) {
    const value = lowerArgument(cx, arg)
    for (const one of [value, ...(value.parts ?? [])]) {
      for (const call of one.calls ?? []) calls.add(call)
      tail ??= one.tail
    }
  }
  for (const call of calls) call.isJoined = true
  return {
    ...(calls.size > 0 && { calls: [...calls] }),
    ...(tail !== undefined && { tail, isTailOptional: true }),
    fresh: 'promise',
  }
}

/** `(async () => { … })()`. */
function lowerImmediate(cx: HostLowering, node: CallExpression, fn: AnyFunction): Value {
  for (const arg of node.arguments) if (!isFunctionNode(arg)) lowerArgument(cx, arg)
  const unit = callbackUnit(cx, fn, 'sync')
  const end = cx.block()
  if (!fn.async) {
    cx.advance()
    const result = inlineInto(cx, unit, fn, end, cx.frame.handler)
    cx.current = end
    return result
  }
  // Its suspensions come after the rest of this region: `this.p = (async () => …)()` is stored by then.
  const entry = cx.laterEntry()
  const before = cx.current
  cx.current = entry
  inlineInto(cx, unit, fn, end, undefined)
  cx.current = before
  return { tail: end, fresh: 'promise' }
}

function isPromiseName(callee: Expression): boolean {
  const name = callee.type === 'MemberExpression' ? callee.property : callee
  return name.type === 'Identifier' && name.name.endsWith('Promise')
}

export function lowerNew(cx: HostLowering, node: NewExpression): Value {
  const callee = unwrap(node.callee)
  const { values, functions } = lowerArguments(cx, node.arguments)
  const root = rootNameOf(callee)
  const path = root === undefined ? noNames : namesAfterRoot(callee)
  const name = path.at(-1) ?? root ?? ''
  const executor = functions[0]
  // Also a subclass of it, and the constructor that a library is configured to use.
  if (executor !== undefined && isPromiseName(callee)) {
    const unit = callbackUnit(cx, executor.node, 'sync')
    const end = cx.block()
    cx.advance()
    if (executor.node.async) {
      const before = cx.current
      inlineInto(cx, unit, executor.node, end, undefined)
      cx.current = before
      cx.advance()
    } else {
      inlineInto(cx, unit, executor.node, end, cx.frame.handler)
      cx.current = end
    }
    return { fresh: 'promise' }
  }
  const target =
    root === undefined
      ? { callee: { kind: 'unknown' } as const, object: unknown, name }
      : {
          callee: { kind: 'name', name: root, scope: cx.scope, path } as const,
          object: unknown,
          name,
        }
  const site = newSite(cx, node, target, values, true)
  emitCall(cx, site, unknown)
  for (const one of functions) runCallback(cx, site, { ...one, role: 'event' }, unknown, undefined)
  const isContainer = /^(?:Map|Set|WeakMap|WeakSet|Array)$/.test(name)
  return {
    fresh: isContainer && (values.length === 0 || name === 'Array') ? 'empty' : 'object',
    ...(root !== undefined && {
      constructed: { name: [root, ...path].join('.'), scope: cx.scope },
    }),
  }
}
