/**
 * Calls that a model says hold the loop.
 *
 * Two sorts. Those that are slow whatever they are given (disk, processes, key derivation) are judged
 * by what waits for them. Those whose cost is the size of their input are only reported when that
 * input comes from a source without a limit.
 */
import type { Node } from 'oxc-parser'
import type { Level } from '../finding.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { dependsOnInput } from '../models/model.ts'
import type { BlockingEntry } from '../models/model.ts'
import { levelByReach } from './make-finding.ts'
import type { Blocking } from './make-finding.ts'
import { isDoneOnce } from './once.ts'
import type { OriginFinder } from './origin.ts'
import type { Origin } from './origin-kinds.ts'
import { calleeText, isCold, isServing } from './roots.ts'
import type { RootFinder, Route } from './roots.ts'
import { ruleOfKind } from './rules.ts'
import { isFunction, isLoop, pathToCall } from './syntax.ts'

/** A linear pass over this many bytes costs little: a few milliseconds. */
const harmlessBytes = 1_048_576

export function blockingCallAt(
  unit: FunctionUnit,
  call: CallSite,
  entry: BlockingEntry,
  origins: OriginFinder,
  roots: RootFinder,
): Blocking | undefined {
  if (isAskedFor(unit, entry) || isOfNothing(call, entry)) return undefined
  const route = roots.routeTo(unit)
  if (!mayMatter(entry, route)) return undefined
  if (entry.boundedBy?.some((option) => isOption(unit, call, option)) === true) return undefined
  const path = pathToCall(call)
  if (path === undefined) return undefined
  const origin = dependsOnInput(entry)
    ? (origins.readBy(unit.file, call) ?? inputOrigin(unit, path, entry, origins))
    : undefined
  const level = levelOf(entry, route, origin, path, unit)
  if (level === undefined) return undefined
  const rule = ruleOfKind(entry.kind)
  const what = calleeText(call)
  return {
    rule,
    level,
    unit,
    start: call.start,
    end: call.end,
    what,
    message: `${what}${originText(origin)} holds the event loop while it waits for ${rule.waitsFor}`,
    route,
    evidence: entry.boundedBy === undefined ? [] : [`bounded by: ${entry.boundedBy.join(', ')}`],
    alternative: entry.alternative,
  }
}

/** Its name announces it: `loadSync` may read synchronously. */
function isAskedFor(unit: FunctionUnit, { kind }: BlockingEntry): boolean {
  if (kind === 'console') return false
  for (let at: FunctionUnit | undefined = unit; at !== undefined; at = at.parent) {
    if (at.name.endsWith('Sync')) return true
  }
  return false
}

/** Nothing is spread without dots: they are looked for first, because every `push` comes here. */
function isOfNothing({ owner, start, end }: CallSite, { kind }: BlockingEntry): boolean {
  return kind === 'spread' && !owner.file.parsed.text.slice(start, end).includes('...')
}

/** Whether a call that is reached like this can have a level, wherever its input comes from. */
function mayMatter(entry: BlockingEntry, route: Route | undefined): boolean {
  switch (entry.kind) {
    case 'console':
      return route?.kind === 'request'
    case 'code-load':
      return route !== undefined && !isCold(route.kind)
    case 'concat':
      return route !== undefined && isServing(route.kind)
    case 'sync-compression':
    case 'sync-crypto':
      return true
    default:
      return route !== undefined || !dependsOnInput(entry)
  }
}

function isOption(unit: FunctionUnit, { start, end }: CallSite, name: string): boolean {
  return (
    /^\w+$/.test(name) && new RegExp(`\\b${name}\\b`).test(unit.file.parsed.text.slice(start, end))
  )
}

function levelOf(
  entry: BlockingEntry,
  route: Route | undefined,
  origin: Origin | undefined,
  path: readonly Node[],
  unit: FunctionUnit,
): Level | undefined {
  const isHot = route !== undefined && isServing(route.kind)
  if (entry.kind === 'console') return route?.kind === 'request' ? 'note' : undefined
  if (entry.kind === 'code-load') return codeLoadLevel(path, route)
  if (entry.kind === 'concat') return isAccumulating(path) && isHot ? 'warning' : undefined
  if (origin === undefined) {
    const level = levelByReach(route)
    return level === 'warning' && isDoneOnce(path, unit) ? 'note' : level
  }
  // A caller of a function that ends in Sync has chosen to wait; only small input excuses it.
  if (entry.kind === 'sync-compression' || entry.kind === 'sync-crypto') {
    return origin.kind === 'bounded' ? undefined : levelByReach(route)
  }
  if (origin.kind !== 'source' || route === undefined) return undefined
  if (origin.limit !== undefined && origin.limit <= harmlessBytes) return undefined
  return isHot && !origin.isTrusted ? 'warning' : 'note'
}

function inputOrigin(
  unit: FunctionUnit,
  path: readonly Node[],
  { input }: BlockingEntry,
  origins: OriginFinder,
): Origin | undefined {
  const node = path.at(-1)
  if (node?.type !== 'CallExpression' && node?.type !== 'NewExpression') return undefined
  const operand =
    input === 'receiver'
      ? node.callee.type === 'MemberExpression'
        ? node.callee.object
        : undefined
      : input === 'spread'
        ? node.arguments.find((argument) => argument.type === 'SpreadElement')
        : node.arguments[input ?? 0]
  return operand === undefined
    ? { kind: 'bounded' }
    : origins.originOf(unit.file, [...path, node.callee, operand])
}

/** Loading code that is only known at run time; a fixed one is loaded once and then kept. */
function codeLoadLevel(path: readonly Node[], route: Route | undefined): Level | undefined {
  if (route === undefined || isCold(route.kind)) return undefined
  const node = path.at(-1)
  const argument = node?.type === 'CallExpression' ? node.arguments[0] : undefined
  if (argument === undefined) return undefined
  const isFixed = argument.type === 'Literal'
  if (isFixed) return route.kind === 'request' ? 'note' : undefined
  return isServing(route.kind) ? 'warning' : 'note'
}

/** `all = Buffer.concat([all, chunk])` in a loop or at every event: copies all earlier chunks each time. */
function isAccumulating(path: readonly Node[]): boolean {
  const node = path.at(-1)
  const assignment = path.findLast((one) => one.type === 'AssignmentExpression')
  if (assignment?.type !== 'AssignmentExpression' || node?.type !== 'CallExpression') return false
  const { left } = assignment
  const [list] = node.arguments
  // A second argument limits how many bytes are kept.
  if (list?.type !== 'ArrayExpression' || node.arguments.length > 1) return false
  const isItself = list.elements.some(
    (one) => one?.type === 'Identifier' && left.type === 'Identifier' && one.name === left.name,
  )
  const inner = path.slice(path.findLastIndex(isFunction))
  const isInListener = left.type === 'Identifier' && inner.length < path.length
  return isItself && (inner.some(isLoop) || isInListener)
}

function originText(origin: Origin | undefined): string {
  return origin?.kind === 'source' ? ` on a ${origin.gives} of any size` : ''
}
