/**
 * How functions come to run, and so which of them may overlap.
 *
 * Roots have a reach of their own: handlers, timers, exports, the top level of modules. Everything
 * they call has it too. A function that no code calls and no code hands over may be called by any user of the program.
 */
import type { ClassUnit, FunctionUnit, Reach, ReachReason } from './program.ts'

export function assignReach(units: readonly FunctionUnit[], classes: readonly ClassUnit[]): void {
  const work: FunctionUnit[] = []
  const children = indexChildren(units)
  const add = (unit: FunctionUnit, reach: Reach, reason: ReachReason): void => {
    if (unit.reach.has(reach)) return
    unit.reach.set(reach, reason)
    work.push(unit)
  }
  for (const unit of units) addRoots(unit, add)
  for (const one of classes) {
    for (const unit of [...one.methods.values(), ...one.statics.values()])
      if (unit.visibility === 'public' && unit.kind !== 'constructor')
        add(unit, 'exported', reasonOf(unit, `${unit.name} is public`))
  }
  for (const unit of units) {
    const isRoot = unit.kind === 'module' || unit.callers.length > 0 || unit.reach.size > 0
    if (!isRoot && unit.host === unit && unit.kind !== 'constructor')
      add(unit, 'exported', reasonOf(unit, `${unit.name} is handed out`))
  }
  /** How many of its reaches a unit has handed on. */
  const handedOn = new Map<FunctionUnit, number>()
  for (let unit = work.pop(); unit !== undefined; unit = work.pop()) {
    const before = handedOn.get(unit) ?? 0
    if (before === unit.reach.size) continue
    handedOn.set(unit, unit.reach.size)
    let at = 0
    for (const [reach, reason] of unit.reach) {
      if (at++ < before) continue
      for (const site of unit.calls) for (const target of site.targets) add(target, reach, reason)
      for (const inner of children.get(unit) ?? []) add(inner, reach, reason)
    }
  }

  function addRoots(unit: FunctionUnit, addTo: typeof add): void {
    if (unit.kind === 'module')
      addTo(unit, 'start-up', reasonOf(unit, `${unit.file.path} is loaded`))
    if (unit.isExported) addTo(unit, 'exported', reasonOf(unit, `${unit.name} is exported`))
    for (const site of unit.calls) {
      for (const use of site.callbacks) {
        const reach = reachOfRole(use.role)
        if (reach === undefined) continue
        const text = `${site.name} in ${unit.namedAs} runs it`
        addTo(use.unit, reach, { text, file: unit.file, start: site.start, end: site.end })
      }
    }
  }
}

/** Callbacks that are lowered into the graph of a unit around them run when it does. */
function indexChildren(units: readonly FunctionUnit[]): Map<FunctionUnit, FunctionUnit[]> {
  const children = new Map<FunctionUnit, FunctionUnit[]>()
  for (const unit of units) {
    if (unit.host === unit || unit.parent === undefined) continue
    const known = children.get(unit.parent)
    if (known === undefined) children.set(unit.parent, [unit])
    else known.push(unit)
  }
  return children
}

function reachOfRole(role: string): Reach | undefined {
  switch (role) {
    case 'event':
      return 'event'
    case 'timer':
    case 'interval':
      return 'timer'
    case 'request':
      return 'request'
    case 'sync-async':
      return 'parallel'
    default:
      return undefined
  }
}

function reasonOf(unit: FunctionUnit, text: string): ReachReason {
  return { text, file: unit.file, start: unit.start, end: Math.min(unit.end, unit.start + 80) }
}
