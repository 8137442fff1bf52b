/**
 * The users of a location: recorded while every graph is walked for its summary, so that no rule has to walk
 * all of them again to find the few places where a location is used.
 */
import type { Access, Block, Graph } from '../ir/graph.ts'
import type { Location } from '../ir/locations.ts'
import type { FunctionUnit } from '../ir/program.ts'
import { Chains } from './chains.ts'
import type { Position } from './paths.ts'

/** An access with where it is. */
export interface Located extends Position {
  readonly access: Access
  readonly host: FunctionUnit
  readonly graph: Graph
}

const none: readonly Located[] = []

/** Uses in one program: locations are known by their numbers. */
export class Uses {
  readonly #hosts = new Chains<FunctionUnit>()
  readonly #writes = new Chains<Located>()
  readonly #known = new Map<Location, readonly Located[]>()
  /** Few are asked for. */
  readonly #fields = new Map<string, readonly Located[]>()
  readonly #hidden = new Set<FunctionUnit>()

  /** An access in the graph of a host. Those of one host come one after the other. */
  note(access: Access, host: FunctionUnit, graph: Graph, block: Block, index: number): void {
    const { id } = access.location.canonical
    if (this.#hosts.lastOf(id) !== host) this.#hosts.add(id, host)
    if (access.op === 'write') this.#writes.add(id, { access, host, graph, block, index })
  }

  /** Writes of this host are made by other functions, and recorded there. */
  hide(host: FunctionUnit): void {
    this.#hidden.add(host)
  }

  /** The hosts with an access of a location in their graph, in the order of the program. */
  hostsOf(location: Location): readonly FunctionUnit[] {
    return this.#hosts.of(location.canonical.id).sort((a, b) => a.id - b.id)
  }

  /** All writes to a location, in the order of the program. */
  writesOf(location: Location): readonly Located[] {
    const { canonical } = location
    if (this.#writes.lastOf(canonical.id) === undefined) return none
    let writes = this.#known.get(canonical)
    if (writes === undefined)
      this.#known.set(canonical, (writes = this.#seen(this.#writes.of(canonical.id))))
    return writes
  }

  /** Writes to fields of this name, whatever their owner, in the order of the program. */
  writesOfField(field: string): readonly Located[] {
    let writes = this.#fields.get(field)
    if (writes === undefined) {
      const all = this.#writes.values
      writes = this.#seen(all.filter(({ access }) => access.location.canonical.field === field))
      this.#fields.set(field, writes)
    }
    return writes
  }

  #seen(writes: Located[]): Located[] {
    const seen =
      this.#hidden.size === 0 ? writes : writes.filter(({ host }) => !this.#hidden.has(host))
    return seen.sort(byHost)
  }
}

/** Compares hosts; accesses of one host stay in their order. */
function byHost(a: Located, b: Located): number {
  return a.host.id - b.host.id
}
