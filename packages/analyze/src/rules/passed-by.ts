/**
 * H211 passed by: the first caller marks that it has begun, waits for what all callers need, and continues.
 * The second caller finds the mark and continues at once, before its resource is there.
 *
 * `if (!this.begun) { this.begun = true; await this.prepare() } return this.work()`: only the one that
 * sets the mark waits. It is not the in-flight flag (which is cleared when the work ends) and not a
 * single flight (which keeps the promise).
 */
import type { Access, Block, Check, Event } from '../ir/graph.ts'
import type { CallSite, Suspension } from '../ir/program.ts'
import { isOwnVariable } from '../ir/own-variable.ts'
import { isCopy, isOfCopy, ownerIn } from '../ir/splice.ts'
import { isRunning } from '../meaning/lifecycle.ts'
import { isStore } from '../summaries/effects.ts'
import { ask, found, stop } from '../summaries/paths.ts'
import type { Draft } from './draft.ts'
import { textOf } from './draft.ts'
import { keepPromise, waitInBoth } from './fixes.ts'
import type { Host, Located } from './host.ts'
import { overlapOf } from './program-model.ts'
import type { Model } from './program-model.ts'
import { isComponentState } from './shared.ts'
import { inSameRegion, isCalledInTurn, isLook, overSuspension } from './event-walk.ts'
import { source } from '../explain/page.ts'
import type { RulePage } from '../explain/page.ts'

export function passedBy(model: Model): Draft[] {
  const drafts: Draft[] = []
  for (const host of model.hosts.suspending) {
    if (!host.isWriting || host.unit.kind === 'constructor' || isCalledInTurn(host.unit)) continue
    const draft = inHost(model, host)
    if (draft !== undefined) drafts.push(draft)
  }
  return drafts
}

function inHost(model: Model, host: Host): Draft | undefined {
  for (const { location, accesses } of host.checked) {
    if (!isComponentState(location) || isOwnVariable(location, host.unit)) continue
    for (const look of accesses) {
      if (look.access.op !== 'read') continue
      for (const check of look.access.checks) {
        const one = from(host, look, check)
        if (one === undefined) continue
        if (overlapOf(host.unit) === undefined || model.serial.guardOf(host.unit) !== undefined)
          return undefined
        return describe(host, look.access, one)
      }
    }
  }
  return undefined
}

interface Passing {
  readonly mark: Access
  readonly suspension: Suspension
  readonly work: CallSite
}

function from(host: Host, { access: look }: Located, check: Check): Passing | undefined {
  const { whenAbsent, whenPresent, branch } = check
  if (whenAbsent === undefined || whenPresent === undefined || branch.isLoop) return undefined
  const location = look.location.canonical
  const isMark = (event: Event): boolean =>
    event.op === 'write' &&
    event.location.canonical === location &&
    !isOfCopy(event) &&
    ownerIn(event) === ownerIn(look)
  const marked = inSameRegion(host.graph, { block: whenAbsent, index: -1 }, isMark)
  const mark = marked?.event as Access | undefined
  if (marked === undefined || mark === undefined || !isStore(mark) || mark.isInitial)
    return undefined
  if (isRunning(mark.value)) return undefined
  const at = { block: marked.block, index: marked.block.events.indexOf(mark) }
  const work = workAfter(host, whenPresent)
  if (work === undefined || isCopy(work)) return undefined
  const way = overSuspension(host.graph, at, (event) => event === work)
  const suspension = way?.suspensions[0]
  if (suspension?.kind !== 'await' || !isPreparing(suspension)) return undefined
  // A mark that is cleared when the work has ended means "busy", and a caller that finds it busy may pass.
  const isCleared = overSuspension(
    host.graph,
    at,
    (event, block) => isMark(event) && event !== mark && block.cleanup !== 1,
  )
  return isCleared === undefined ? { mark, suspension, work } : undefined
}

/** The work that the call which finds the mark does at once, without another check. */
function workAfter(host: Host, block: Block): CallSite | undefined {
  const answer = ask(
    host.graph,
    { block, index: -1 },
    {
      states: 1,
      start: 0,
      step(event) {
        if (event.op === 'suspend' || isLookAtState(event)) return stop
        return event.op === 'call' && (event.isReturned || event.isJoined) ? found : 0
      },
    },
  )
  return answer?.event as CallSite | undefined
}

/** Something that outlives the call is asked, or a function of the program that may ask it. */
function isLookAtState(event: Event): boolean {
  if (!isLook(event)) return false
  return event.op === 'call'
    ? event.targets.length > 0
    : event.op === 'read' && isComponentState(event.location.canonical)
}

/** Whether it waits for something to be there, not for a value of its own. */
function isPreparing({ joins, awaited }: Suspension): boolean {
  return awaited.length > 0 || (joins.length > 0 && joins.every((site) => site.isDiscarded))
}

function describe(host: Host, look: Access, { mark, suspension, work }: Passing): Draft {
  const { name } = look.location.canonical
  const unit = host.unit.namedAs
  return {
    rule: 'H211',
    class: 'stale-reference',
    level: 'warning',
    message: `${unit} waits for \`${textOf(suspension, 40)}\` only in the call that sets ${name}: a second call finds it set and runs \`${textOf(work, 40)}\` at once`,
    locations: [look.location.canonical],
    check: look,
    act: suspension,
    suspensions: [suspension],
    conflict: work,
    steps: [
      { task: 'A', text: `finds ${name} unset and sets it: \`${textOf(mark)}\``, at: mark },
      { task: 'A', text: `waits: \`${textOf(suspension)}\``, at: suspension, isCheckpoint: true },
      { task: 'B', text: `finds ${name} set and does not wait: \`${textOf(look)}\``, at: look },
      { task: 'B', text: `works before it is ready: \`${textOf(work)}\``, at: work },
      { task: 'A', text: 'resumes: only now it is ready', at: suspension },
    ],
    window: [1, 3],
    evidence: [
      overlapOf(host.unit)!.text,
      `both ways lead to \`${textOf(work, 40)}\`, and only one of them waits`,
    ],
    fixes: [
      waitInBoth(textOf(suspension, 80), [3, 4]),
      keepPromise(textOf(suspension.joins[0] ?? suspension, 80), [3, 4]),
    ],
  }
}

export const passedByPage: RulePage = {
  id: 'H211',
  name: 'passed-by',
  class: 'stale-reference',
  level: 'warning',
  summary:
    'Only the first caller waits until it is ready; the second finds the mark and continues.',
  what: `A function checks whether some work was begun. If not, it marks it as begun and waits for it. Both
ways lead to the same work, and only the one that set the mark has waited.`,
  why: `The first requests after a start arrive together. The second one works with a server that is not
initialised, a folder that is not there, a schema that is not loaded.`,
  race: source`
    export class Site {
      #isBegun = false

      async answer(request: Request): Promise<Response> {
        if (!this.#isBegun) {
          this.#isBegun = true
          await loadPages()
        }
        return render(request)
      }
    }
  `,
  steps: [
    ['A', 'answer(): sets the mark'],
    ['A', 'await loadPages(): suspended'],
    ['B', 'answer(): the mark is set'],
    ['B', 'render(): there are no pages yet'],
  ],
  window: [2, 4],
  fixed: source`
    export class Site {
      #pages: Promise<void> | undefined

      async answer(request: Request): Promise<Response> {
        this.#pages ??= loadPages()
        await this.#pages
        return render(request)
      }
    }
  `,
  fixes: [
    'Keep the promise instead of the mark, and wait for it in every call.',
    'Prepare before the first call is accepted.',
  ],
}
