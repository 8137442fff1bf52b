/**
 * Callees before callers.
 *
 * Tarjan's strongly connected components over hosts, without recursion: programs have call chains
 * that are deeper than the stack. Functions that call each other are in one component.
 */
import type { CallSite, FunctionUnit } from '../ir/program.ts'

interface Visit {
  readonly unit: FunctionUnit
  readonly next: readonly FunctionUnit[]
  at: number
}

/** Components of hosts, callees first. */
export function bottomUp(hosts: readonly FunctionUnit[]): FunctionUnit[][] {
  const index = new Map<FunctionUnit, number>()
  const low = new Map<FunctionUnit, number>()
  const onStack = new Set<FunctionUnit>()
  const stack: FunctionUnit[] = []
  const components: FunctionUnit[][] = []
  const enter = (unit: FunctionUnit): Visit => {
    index.set(unit, index.size)
    low.set(unit, index.size - 1)
    stack.push(unit)
    onStack.add(unit)
    return { unit, next: calleesOf(unit), at: 0 }
  }
  for (const root of hosts) {
    if (index.has(root)) continue
    const visits = [enter(root)]
    for (let visit = visits.at(-1); visit !== undefined; visit = visits.at(-1)) {
      const { unit, next } = visit
      if (visit.at < next.length) {
        const callee = next[visit.at++]!
        if (!index.has(callee)) visits.push(enter(callee))
        else if (onStack.has(callee)) lower(low, unit, index.get(callee)!)
        continue
      }
      visits.pop()
      const parent = visits.at(-1)
      if (parent !== undefined) lower(low, parent.unit, low.get(unit)!)
      if (low.get(unit) === index.get(unit)) components.push(popComponent(unit))
    }
  }
  return components

  function popComponent(unit: FunctionUnit): FunctionUnit[] {
    const component: FunctionUnit[] = []
    for (;;) {
      const member = stack.pop()!
      onStack.delete(member)
      component.push(member)
      if (member === unit) return component
    }
  }
}

function lower(low: Map<FunctionUnit, number>, unit: FunctionUnit, to: number): void {
  if (to < low.get(unit)!) low.set(unit, to)
}

function calleesOf(host: FunctionUnit): readonly FunctionUnit[] {
  const callees = new Set<FunctionUnit>()
  for (const block of host.graph?.blocks ?? []) {
    for (const event of block.events) {
      if (event.op !== 'call') continue
      for (const target of targetsOf(event)) callees.add(target)
    }
  }
  return [...callees]
}

/** The hosts a call runs; a callback that is called by name runs where it is written. */
export function targetsOf(site: CallSite): readonly FunctionUnit[] {
  const { targets } = site
  for (const target of targets) if (target.host !== target) return targets.map((one) => one.host)
  return targets
}
