/**
 * The tagged calls of a function: those that models know, and those inside the functions it calls.
 *
 * I1  A function is opened once on a way, and three calls deep: recursion and large call graphs end.
 * I2  A call that neither leaves the loop nor holds it is not shown, however deep it is.
 */
import type { LoopModel } from '../blocking/find-blocking.ts'
import { jobName, jobPlace, placeTags } from '../blocking/jobs.ts'
import type { Origin } from '../blocking/origin-kinds.ts'
import { calleeText } from '../blocking/roots.ts'
import { pathToCall } from '../blocking/syntax.ts'
import type { CallSite, FunctionUnit } from '../ir/program.ts'
import { dependsOnInput } from '../models/model.ts'
import type { BlockingEntry, Tag } from '../models/model.ts'
import type { WorkItem } from './inventory.ts'

const maxDepth = 3
/** Calls of the language itself: they are everywhere, and listed only when a rule reports them. */
const everyday = new Set(['sort', 'spread', 'concat', 'console'])

export class WorkFinder {
  readonly #model: LoopModel
  readonly #own = new Map<FunctionUnit, readonly WorkItem[]>()

  readonly #children: ReadonlyMap<FunctionUnit, readonly FunctionUnit[]>

  constructor(model: LoopModel) {
    this.#model = model
    this.#children = childrenIn(model.program.units)
  }

  /** In the order of the text. */
  workOf(unit: FunctionUnit, opened: readonly FunctionUnit[] = []): readonly WorkItem[] {
    const items: WorkItem[] = []
    const seen = new Set<string>()
    const add = (item: WorkItem): void => {
      const key = `${item.tag} ${item.name} ${item.note ?? ''}`
      if (seen.has(key)) return
      seen.add(key)
      items.push(item)
    }
    const way = [...opened, unit]
    for (const call of this.#callsIn(unit)) {
      const item = this.itemOf(call)
      if (item !== undefined) {
        add(item)
        continue
      }
      if (way.length > maxDepth) continue
      for (const target of call.targets.slice(0, 3)) {
        if (way.includes(target) || call.isGuess) continue
        const inside = this.workOf(target, way)
        if (inside.length === 0) continue
        const { line } = unit.file.parsed.lineAt(call.start)
        add({
          tag: this.#tagOf(target),
          name: `${target.name}()`,
          file: unit.file.path,
          line,
          inside,
        })
      }
    }
    return items
  }

  /** Its own calls and those of callbacks that are written inside it and are not handlers themselves. */
  #callsIn(unit: FunctionUnit): readonly CallSite[] {
    const units = [unit]
    for (const one of units) units.push(...(this.#children.get(one) ?? []))
    return units.flatMap(({ calls }) => calls).toSorted((a, b) => a.start - b.start)
  }

  /** Calls in the text of one function, without those it calls. */
  ownWork(unit: FunctionUnit): readonly WorkItem[] {
    const known = this.#own.get(unit)
    if (known !== undefined) return known
    const items = unit.calls.flatMap((call) => this.itemOf(call) ?? [])
    this.#own.set(unit, items)
    return items
  }

  /** Undefined for calls that no model knows, and for those that are small. */
  itemOf(call: CallSite): WorkItem | undefined {
    const { catalogue, symbols } = this.#model
    const place = jobPlace(call)
    const at = { file: call.owner.file.path, line: call.owner.file.parsed.lineAt(call.start).line }
    if (place !== undefined) {
      return { tag: placeTags[place], name: `job ${jobName(call) ?? calleeText(call)}`, ...at }
    }
    if (call.external === undefined && !catalogue.mayKnow(call.name)) return undefined
    const symbol = symbols.symbolOf(call)
    if (symbol === undefined) return undefined
    const offload = catalogue.offload(symbol)
    if (offload !== undefined) return { tag: offload.tag, name: calleeText(call), ...at }
    const entry = catalogue.blocking(symbol)
    if (entry === undefined || everyday.has(entry.kind)) return undefined
    const isRequireAtTop = entry.kind === 'code-load' && call.owner.kind === 'module'
    if (isRequireAtTop) return undefined
    const origin = dependsOnInput(entry) ? this.#originOf(call, entry) : undefined
    // Nothing says that it is large: naming every JSON.stringify would bury the others.
    if (origin?.kind === 'bounded' || origin?.kind === 'unknown') return undefined
    const tag: Tag = this.#model.roots.isOnLoop(call.owner) ? entry.tag : 'THREAD'
    return {
      tag,
      name: calleeText(call),
      ...at,
      ...(origin !== undefined && { note: originNote(origin) }),
      ...(origin !== undefined && origin.kind !== 'source' && { isVague: true as const }),
    }
  }

  #tagOf(unit: FunctionUnit): Tag {
    return this.#model.roots.isOnLoop(unit) ? 'LOOP' : 'THREAD'
  }

  #originOf(call: CallSite, { input }: BlockingEntry): Origin {
    const { file } = call.owner
    const read = this.#model.origins.readBy(file, call)
    if (read !== undefined) return read
    const path = pathToCall(call)
    const node = path?.at(-1)
    if (path === undefined || typeof input !== 'number') return { kind: 'unknown' }
    if (node?.type !== 'CallExpression' && node?.type !== 'NewExpression')
      return { kind: 'unknown' }
    const operand = node.arguments[input]
    return operand === undefined
      ? { kind: 'unknown' }
      : this.#model.origins.originOf(file, [...path, operand])
  }
}

function originNote(origin: Origin): string {
  switch (origin.kind) {
    case 'source':
      return origin.limit === undefined
        ? `${origin.gives}, no limit`
        : `${origin.gives}, at most ${bytes(origin.limit)}`
    case 'input':
      return `size is up to the caller of ${origin.unit.name}`
    case 'unknown':
    case 'bounded':
      return 'size not known'
  }
}

const roleOfItsOwn: ReadonlySet<string | undefined> = new Set([
  'event',
  'timer',
  'interval',
  'request',
])

/** Callbacks by the function they are written in. */
function childrenIn(
  units: readonly FunctionUnit[],
): ReadonlyMap<FunctionUnit, readonly FunctionUnit[]> {
  const children = new Map<FunctionUnit, FunctionUnit[]>()
  for (const unit of units) {
    if (unit.parent === undefined || unit.kind !== 'callback' || roleOfItsOwn.has(unit.role))
      continue
    const known = children.get(unit.parent)
    if (known === undefined) children.set(unit.parent, [unit])
    else known.push(unit)
  }
  return children
}

function bytes(count: number): string {
  return count % 1_048_576 === 0 ? `${count / 1_048_576} MiB` : `${Math.round(count / 1024)} KiB`
}
