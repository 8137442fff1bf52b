/**
 * H314 filtered once: a caller waits for an event with a listener that the first event removes, and the listener
 * passes over the events of others. When one of those comes first, the listener is gone and the caller
 * waits for ever.
 *
 * Not reported when something else settles the promise as well: a timer, a second listener, the listener itself.
 */
import type { Expression, Statement } from 'oxc-parser'
import { isFunctionNode, unwrap } from '../ir/nodes.ts'
import type { AnyFunction } from '../ir/nodes.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import type { Draft, Place } from './draft.ts'
import { textOf } from './draft.ts'
import { bounded, keepListening } from './fixes.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isExecutor } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function filteredOnce(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const site of model.calls.named('once')) {
    const draft = from(site)
    if (draft !== undefined) drafts.push(draft)
  }
  return drafts
}

function from(site: CallSite): Draft | undefined {
  const listener = site.callbacks.find(({ role }) => role === 'event')?.unit
  const executor = executorAround(site.owner)
  if (listener === undefined || executor === undefined) return undefined
  // It listens again for the next one.
  if (listener.calls.some(({ name }) => name === 'once' || name === 'on')) return undefined
  if (isSettledElsewhere(executor, listener)) return undefined
  const filter = filterOf(listener, executor.params)
  if (filter === undefined) return undefined
  return describe(site, { owner: listener, start: filter.start, end: filter.end })
}

function executorAround(unit: FunctionUnit): FunctionUnit | undefined {
  for (let at: FunctionUnit | undefined = unit; at !== undefined; at = at.parent)
    if (at.kind === 'callback' && at.params.length > 0 && isExecutor(at)) return at
  return undefined
}

/** `resolve` or `reject` is named outside of the listener, as a callee or as an argument. */
function isSettledElsewhere(executor: FunctionUnit, listener: FunctionUnit): boolean {
  const { node, file, start, end, params } = executor
  const body = isFunctionNode(node) ? (node.body?.start ?? start) : start
  const { text } = file.parsed
  const outside = `${text.slice(body, listener.start)} ${text.slice(listener.end, end)}`
  return params.some((name) => isNamedIn(outside, name))
}

function isNamedIn(text: string, name: string): boolean {
  return new RegExp(`(?<![\\w$.])${name.replaceAll('$', '\\$')}(?![\\w$])`).test(text)
}

/**
 * The condition that passes over an event: all of the listener is `if (mine) resolve()`, or it begins with
 * `if (!mine) return`.
 */
function filterOf(listener: FunctionUnit, settling: readonly string[]): Expression | undefined {
  const { node, file } = listener
  if (!isFunctionNode(node) || node.body?.type !== 'BlockStatement') return undefined
  const [first, ...rest] = node.body.body as readonly Statement[]
  if (first?.type !== 'IfStatement' || first.alternate !== null) return undefined
  const settles = (one: { readonly start: number; readonly end: number }): boolean =>
    settling.some((name) => isNamedIn(file.parsed.text.slice(one.start, one.end), name))
  const isPassing =
    rest.length === 0
      ? settles(first.consequent)
      : isReturn(first.consequent) && rest.some((one) => settles(one))
  const event = namesIn(node, file.parsed.text)
  return isPassing && isAboutOthers(first.test, event, listener) ? first.test : undefined
}

/** The names of its parameters, and of their parts; names of types are none. */
function namesIn({ params }: AnyFunction, text: string): readonly string[] {
  return params.flatMap((param) => {
    const type = 'typeAnnotation' in param ? param.typeAnnotation : undefined
    return text.slice(param.start, type?.start ?? param.end).match(/[\w$]+/g) ?? []
  })
}

function isReturn(statement: Statement): boolean {
  const only =
    statement.type === 'BlockStatement' && statement.body.length === 1
      ? statement.body[0]!
      : statement
  return only.type === 'ReturnStatement' && only.argument === null
}

/** A part of the event is compared with something of this caller, and not with a state that all callers know. */
function isAboutOthers(
  test: Expression,
  event: readonly string[],
  listener: FunctionUnit,
): boolean {
  const node = unwrap(test)
  if (node.type === 'LogicalExpression')
    return isAboutOthers(node.left, event, listener) || isAboutOthers(node.right, event, listener)
  if (node.type !== 'BinaryExpression' || !/^[!=]==?$/.test(node.operator)) return false
  const roots = [node.left as Expression, node.right].map((side) => rootOf(side))
  const [ofEvent, ...others] = roots.filter((name) => name !== undefined && event.includes(name))
  const own = roots.find((name) => name !== undefined && !event.includes(name))
  return (
    ofEvent !== undefined &&
    others.length === 0 &&
    own !== undefined &&
    isOfCaller(own, listener.parent)
  )
}

/** `this` or the name that a path of fields begins with. */
function rootOf(side: Expression): string | undefined {
  let at = unwrap(side)
  while (at.type === 'MemberExpression') at = unwrap(at.object)
  if (at.type === 'ThisExpression') return 'this'
  return at.type === 'Identifier' ? at.name : undefined
}

/** Declared in a function around the listener: every caller has its own. */
function isOfCaller(name: string, around: FunctionUnit | undefined): boolean {
  if (name === 'this') return true
  for (let at = around; at !== undefined && at.kind !== 'module'; at = at.parent) {
    if (at.params.includes(name)) return true
    const text = at.file.parsed.text.slice(at.start, at.end)
    const declared = new RegExp(
      `(?:const|let|var)\\s[^=;]*(?<![\\w$])${name.replaceAll('$', '\\$')}(?![\\w$])`,
    )
    if (declared.test(text)) return true
  }
  return false
}

function describe(site: CallSite, filter: Place): Draft {
  const by = site.owner.namedAs
  return {
    rule: 'H314',
    class: 'missing-guard',
    level: 'warning',
    message: `${by} waits with \`once\` for an event of its own: the event of another caller removes the listener, which passes it over, and the wait never ends`,
    locations: [],
    check: site,
    act: filter,
    suspensions: [],
    conflict: filter,
    steps: [
      { task: 'A', text: `listens once: \`${textOf(site)}\``, at: site, isCheckpoint: true },
      { task: 'B', text: 'its event is emitted first, and removes the listener of A', at: site },
      { task: 'A', text: `passes it over: \`${textOf(filter)}\``, at: filter },
      { task: 'A', text: 'its own event is emitted: nothing listens any more', at: filter },
    ],
    window: [1, 3],
    evidence: [
      'nothing else settles the promise',
      overlapOf(site.owner.host)?.text ?? 'other callers wait for the same event',
    ],
    fixes: [keepListening(textOf(filter, 40), [2, 4]), bounded([1, 4])],
  }
}

export const filteredOncePage: RulePage = {
  id: 'H314',
  name: 'filtered-once',
  class: 'missing-guard',
  level: 'warning',
  summary: 'A listener that the first event removes passes over the events of other callers.',
  what: `A caller waits for an event with \`once\`. The listener compares the event with something of the caller, such as
an id, and does nothing when they differ. Nothing else settles the promise.`,
  why: `\`once\` removes the listener before it is called. With two callers at a time the event of one takes away the
listener of the other, whose promise stays pending for ever.`,
  race: source`
    import type { EventEmitter } from 'node:events'

    export function answered(bus: EventEmitter, id: string): Promise<void> {
      return new Promise((resolve) => {
        bus.once('answer', (answer: { id: string }) => {
          if (answer.id === id) resolve()
        })
      })
    }
  `,
  steps: [
    ['A', "answered('a'): listens once"],
    ['B', "answered('b'): listens once"],
    ['B', "the answer for 'b' comes: both listeners are removed, and A passes it over"],
    ['A', "the answer for 'a' comes: nothing listens, A waits for ever"],
  ],
  window: [2, 4],
  fixed: source`
    import type { EventEmitter } from 'node:events'

    export function answered(bus: EventEmitter, id: string): Promise<void> {
      return new Promise((resolve) => {
        const listener = (answer: { id: string }): void => {
          if (answer.id !== id) return
          bus.off('answer', listener)
          resolve()
        }
        bus.on('answer', listener)
      })
    }
  `,
  fixes: [
    'Listen with `on`, and remove the listener when the right event has come.',
    'Keep the waiting callers in a map by id, with one listener for all of them.',
  ],
}
