/**
 * Calls that take or give back a guard, or run a function under one.
 *
 * Recognized by the class of the object where that is known, else by the names of method and
 * object together: `this.mutex.acquire()` is a lock, `pool.acquire()` is not.
 */
import type { Expression, Node } from 'oxc-parser'
import { keyNumber } from './expressions.ts'
import type { HostLowering } from './host.ts'
import { unwrap } from './nodes.ts'
import type { Value } from './values.ts'

export interface GuardCall {
  readonly op: 'acquire' | 'release' | 'scoped'
  readonly guard: string
  readonly key: string | undefined
  readonly isScoped: boolean
}

const lockObject =
  /(?:lock|mutex|semaphore|sem|latch|monitor|critical|serial|limit|navigator\.locks|locks|redlock|queue)\w*(?:\(\))?$/i
const queueObject = /(?:queue|limit|serial|lane|executor)\w*$/i
const scopedNames = new Set([
  'runExclusive',
  'withLock',
  'runLocked',
  'synchronized',
  'request',
  'run',
  'use',
  'using',
  'lock',
  'acquire',
  'withReadLock',
  'withWriteLock',
  'serialize',
  'exclusive',
  'critical',
])
const acquireNames = new Set(['acquire', 'lock', 'wait', 'enter', 'acquireAsync', 'lockAsync'])
const releaseNames = new Set(['release', 'unlock', 'leave', 'exit'])

/** Helpers that let callers with the same key share one run, or run one after the other. */
const sharedRun =
  /^(?:coalesce\w*|single_?(?:flight|promise)\w*|shared?_?promise\w*|dedupe\w*|deduplicate\w*|in_?flight\w*|p?memoi[sz]e(?:async|d|promise)?|with_?(?:lock|mutex)\w*|run_?(?:exclusive|locked|serial\w*)|synchroni[sz]ed?|serial(?:i[sz]e|ly)?|exclusive(?:ly)?)$/i

/** `const limit = pLimit(1)`. */
function isLimitOfOne(cx: HostLowering, name: string): boolean {
  if (!/limit|serial|queue|throat/i.test(name) || !/^[\w$]+$/.test(name)) return false
  const made = new RegExp(
    `\\b${name.replaceAll('$', '\\$')}\\s*[:=][^;\\n]*(?:imit|throat)\\w*\\)?\\(\\s*1\\s*\\)`,
  )
  return made.test(cx.file.file.parsed.text)
}

interface Target {
  readonly object: Value
  readonly name: string
  readonly objectText: string
}

export function guardOf(
  cx: HostLowering,
  target: Target,
  callee: Expression,
  args: readonly Node[],
  values: readonly Value[],
): GuardCall | undefined {
  const { name, object, objectText } = target
  const hasFunction = args.some(isFunction)
  if (hasFunction && cx.file.guards.has(name)) {
    const own = object.location?.key ?? `${objectText}.${name}`
    return { op: 'scoped', guard: own, key: keyOf(cx, callee, args[0], values[0]), isScoped: true }
  }
  if (hasFunction && (sharedRun.test(name) || isLimitOfOne(cx, name))) {
    // `singlePromise(fn, key)` and `coalesce(key, fn)` are both in use.
    const at = args.findIndex((arg) => !isFunction(arg))
    const key = keyOf(cx, callee, args[at], values[at])
    // Two locks of one component are two guards.
    return { op: 'scoped', guard: object.location?.key ?? name, key, isScoped: true }
  }
  if (objectText === '') return undefined
  const guard = object.location?.key ?? objectText
  if (
    name === 'runExclusive' ||
    (scopedNames.has(name) && hasFunction && lockObject.test(objectText))
  ) {
    if (!hasFunction) return undefined
    return { op: 'scoped', guard, key: keyOf(cx, callee, args[0], values[0]), isScoped: true }
  }
  if (
    (name === 'add' || name === 'push' || name === 'enqueue' || name === 'schedule') &&
    hasFunction &&
    isSerialQueue(cx, object, objectText)
  )
    return { op: 'scoped', guard, key: undefined, isScoped: true }
  const op = acquireNames.has(name) ? 'acquire' : releaseNames.has(name) ? 'release' : undefined
  if (op === undefined || hasFunction) return undefined
  if (!lockObject.test(objectText) || queueObject.test(objectText)) return undefined
  return { op, guard, key: keyOf(cx, callee, args[0], values[0]), isScoped: false }
}

/** `locks.acquire(key, …)`, `lockOf(key).runExclusive(…)`, `locks.get(key).acquire()`. */
function keyOf(
  cx: HostLowering,
  callee: Expression,
  first: Node | undefined,
  value: Value | undefined,
): string | undefined {
  const isKey =
    first !== undefined &&
    first.type !== 'SpreadElement' &&
    value?.unit === undefined &&
    !isFunction(first)
  if (isKey) return keyNumber(cx, first as Expression)
  if (callee.type !== 'MemberExpression') return undefined
  const object = unwrap(callee.object)
  const arg = object.type === 'CallExpression' ? object.arguments[0] : undefined
  return arg === undefined || arg.type === 'SpreadElement' ? undefined : keyNumber(cx, arg)
}

function isFunction(node: Node): boolean {
  return node.type === 'ArrowFunctionExpression' || node.type === 'FunctionExpression'
}

/** `new PQueue({ concurrency: 1 })`, found in the text of the file: it is written down once. */
function isSerialQueue(cx: HostLowering, object: Value, objectText: string): boolean {
  if (!queueObject.test(objectText)) return false
  const name = object.location?.field ?? objectText
  const plain = name.replace(/^#/, '').replace(/[^\w$]/g, '')
  if (plain === '') return false
  const { text } = cx.file.file.parsed
  const at = text.search(
    new RegExp(`${plain}\\s*[:=][^;\\n]*new\\s+\\w*Queue\\w*\\(\\s*\\{[^}]*concurrency:\\s*1\\b`),
  )
  return at !== -1
}
