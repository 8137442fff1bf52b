/**
 * A lowered file that can be linked again: whatever a program has written into it can be taken back.
 *
 * Linking, types and summaries fill fields of units, classes, calls, graphs and locations in place. Most
 * of these are empty when lowering is done, and are emptied again. In a few of them lowering has put
 * something already; that is remembered here, once, before the file is linked for the first time.
 *
 * I1. After `restore` the file is as lowering made it, and refers to no other file.
 * I2. A field that is written after lowering is reset here.
 */
import { noCallbacks, noTargets } from './calls.ts'
import type { Block, Event, Graph } from './graph.ts'
import type { Lowered } from './lower.ts'
import type { CallbackUse, CallSite, ClassUnit, FunctionUnit, Suspension } from './program.ts'
import { unsplice } from './splice.ts'

export class KeptFile {
  readonly lowered: Lowered
  /** Functions that are written where they are handed over. Linking adds those that are named there. */
  readonly #callbacks = new Map<CallSite, readonly CallbackUse[]>()
  /** Objects that are exported as a whole. Linking adds objects exported by name. */
  readonly #exported = new Set<ClassUnit>()
  /** Suspensions at `return f()`. Summaries drop those where f turns out not to wait. */
  readonly #ends = new Map<Block, readonly Event[]>()
  readonly #suspensions = new Map<FunctionUnit, readonly Suspension[]>()
  /** The functions that suspend whatever their callees do. */
  readonly #suspending = new Set<Graph>()

  /** @param lowered As lowering made it: not linked yet. */
  constructor(lowered: Lowered) {
    this.lowered = lowered
    const { units, classes } = lowered.file
    for (const unit of units) this.#remember(unit)
    for (const one of classes) if (one.isExported) this.#exported.add(one)
  }

  #remember(unit: FunctionUnit): void {
    const { calls, suspensions, graph } = unit
    for (const site of calls)
      if (site.callbacks.length > 0) this.#callbacks.set(site, site.callbacks)
    if (suspensions.some(isOfCall)) this.#suspensions.set(unit, suspensions.slice())
    if (graph === undefined) return
    if (graph.suspends) this.#suspending.add(graph)
    for (const block of graph.blocks) {
      const last = block.events.at(-1)
      if (last?.op === 'suspend' && isOfCall(last)) this.#ends.set(block, block.events)
    }
  }

  restore(): void {
    const { file, locations } = this.lowered
    const { units, classes, imports } = file
    imports.clear()
    for (const unit of units) this.#restoreUnit(unit)
    for (const one of classes) {
      one.isExported = this.#exported.has(one)
      one.superClass = undefined
      one.subclasses.length = 0
    }
    for (const location of locations.all) {
      location.canonical = location
      location.isCommon = false
    }
    for (const [block, events] of this.#ends) block.events = events
  }

  #restoreUnit(unit: FunctionUnit): void {
    unit.isExported = false
    unit.callers.length = 0
    unit.reach.clear()
    if (unit.graph !== undefined) {
      unsplice(unit.graph)
      unit.graph.suspends = this.#suspending.has(unit.graph)
    }
    const suspensions = this.#suspensions.get(unit)
    if (suspensions !== undefined) unit.suspensions.splice(0, Infinity, ...suspensions)
    for (const site of unit.calls) {
      site.targets = noTargets
      site.isGuess = false
      site.external = undefined
      site.callbacks = this.#callbacks.get(site) ?? noCallbacks
    }
  }
}

function isOfCall({ kind }: Suspension): boolean {
  return kind === 'call'
}
