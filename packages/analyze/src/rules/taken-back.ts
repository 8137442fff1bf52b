/**
 * A wait that a stopping function cancels: a timer, or a call that took a callback and returned
 * a handle to cancel it. The code after the wait does not run.
 */
import type { CallSite, FunctionUnit, Suspension } from '../ir/program.ts'
import type { Location } from '../ir/locations.ts'
import type { Value } from '../ir/values.ts'
import type { Host } from './host.ts'
import type { Model } from './program-model.ts'
import { isWithin } from './event-walk.ts'

/** Whether the function, or one that it calls, can reach the handle of the wait. */
export function isTakenBack(
  model: Model,
  host: Host,
  suspension: Suspension,
  stopper: FunctionUnit,
): boolean {
  if (suspension.kind !== 'continuation') return false
  // The wait begins with the callback. The result of `.then` cancels nothing, and its wait begins elsewhere.
  const start = host.calls.find(({ event }) => isBegunBy(event, suspension))?.event
  if (start === undefined) return false
  const kept = keptAt(host, start)
  const isOfWait = (value: Value | undefined): boolean =>
    value !== undefined &&
    (isAnswerOf(value, start) ||
      (value.location !== undefined && kept.has(value.location.canonical)) ||
      value.reads?.some(({ location }) => kept.has(location.canonical)) === true)
  const takesBack = (site: CallSite): boolean =>
    site.args.some(isOfWait) ||
    (site.callee.kind === 'member' &&
      model.lifecycles.isRelease(site) &&
      isOfWait(site.callee.receiver))
  return (
    isPassedIn(start, stopper) ||
    stopper.calls.some(takesBack) ||
    stopper.calls.some(({ targets }) => targets.some(({ calls }) => calls.some(takesBack)))
  )
}

/** The suspension is the wait for a callback of this call, which is written in the call or named in it. */
function isBegunBy({ start, end, callbacks }: CallSite, suspension: Suspension): boolean {
  return callbacks.some(({ unit, at }) => {
    if ((at ?? unit.start) === suspension.end) return true
    const isNamed = unit.start < start || unit.end > end
    return isNamed && suspension.start === start && suspension.end < end
  })
}

/** Where the answer of a call is stored. */
function keptAt(host: Host, start: CallSite): ReadonlySet<Location> {
  const kept = new Set<Location>()
  for (const { location, accesses } of host.written)
    if (
      accesses.some(({ access }) => access.value !== undefined && isAnswerOf(access.value, start))
    )
      kept.add(location)
  return kept
}

/** What the call itself answers, at once; not what its callback is given later. */
function isAnswerOf({ calls, isAwaited }: Value, start: CallSite): boolean {
  return isAwaited !== true && calls?.includes(start) === true
}

/** `const timer = later(…)`, and `cancel(timer)` in a function that is written beside it. */
function isPassedIn({ owner, start }: CallSite, stopper: FunctionUnit): boolean {
  if (stopper.parent === undefined || !isWithin(stopper, owner)) return false
  const { text } = owner.file.parsed
  const name = /\b(?:const|let|var)\s+([\w$]+)\s*=\s*$/.exec(
    text.slice(Math.max(0, start - 80), start),
  )?.[1]
  if (name === undefined) return false
  const inside = text.slice(stopper.start, stopper.end)
  return new RegExp(`[(,]\\s*${name.replaceAll('$', '\\$')}\\s*[,)]`).test(inside)
}
