/**
 * Callees before callers.
 *
 * Tarjan's strongly connected components over hosts, without recursion: programs have call chains
 * that are deeper than the stack. Functions that call each other are in one component.
 */
import type { CallSite, FunctionUnit } from '../ir/program.ts'

/** A host with what Tarjan's algorithm knows of it, and how far its calls have been followed. */
interface Visit {
  readonly unit: FunctionUnit
  readonly index: number
  low: number
  isOnStack: boolean
  block: number
  event: number
  target: number
}

/**
 * Calls `found` with the components of hosts, callees first. It does so as soon as a component is known:
 * its graphs have been walked just now, and for most programs memory is what costs the time.
 */
export function bottomUp(
  hosts: readonly FunctionUnit[],
  found: (component: readonly FunctionUnit[]) => void,
): void {
  const known = new Map<FunctionUnit, Visit>()
  const stack: Visit[] = []
  const enter = (unit: FunctionUnit): Visit => {
    const index = known.size
    const visit = { unit, index, low: index, isOnStack: true, block: 0, event: 0, target: 0 }
    known.set(unit, visit)
    stack.push(visit)
    return visit
  }
  const visits: Visit[] = []
  for (const root of hosts) {
    if (known.has(root)) continue
    visits.push(enter(root))
    for (let visit = visits.at(-1); visit !== undefined; visit = visits.at(-1)) {
      const callee = nextCallee(visit)
      if (callee !== undefined) {
        const other = known.get(callee)
        if (other === undefined) visits.push(enter(callee))
        else if (other.isOnStack) visit.low = Math.min(visit.low, other.index)
        continue
      }
      visits.pop()
      const parent = visits.at(-1)
      if (parent !== undefined) parent.low = Math.min(parent.low, visit.low)
      if (visit.low === visit.index) found(popComponent(stack, visit))
    }
  }
}

function popComponent(stack: Visit[], root: Visit): FunctionUnit[] {
  const last = stack.pop()!
  last.isOnStack = false
  // Most functions are alone; a list that is made with its member takes no more room than that.
  const component = [last.unit]
  for (let member = last; member !== root;) {
    member = stack.pop()!
    member.isOnStack = false
    component.push(member.unit)
  }
  return component
}

/** The next host that is called. One that is called twice comes twice, which changes nothing. */
function nextCallee(visit: Visit): FunctionUnit | undefined {
  const blocks = visit.unit.graph?.blocks ?? []
  for (; visit.block < blocks.length; visit.block++, visit.event = 0) {
    const { events } = blocks[visit.block]!
    for (; visit.event < events.length; visit.event++, visit.target = 0) {
      const event = events[visit.event]!
      if (event.op === 'call' && visit.target < event.targets.length)
        return event.targets[visit.target++]!.host
    }
  }
  return undefined
}

const none: readonly FunctionUnit[] = []

/** The hosts a call runs; a callback that is called by name runs where it is written. */
export function targetsOf(site: CallSite): readonly FunctionUnit[] {
  const { targets } = site
  if (targets.length === 0) return none
  for (const target of targets) if (target.host !== target) return targets.map((one) => one.host)
  return targets
}
