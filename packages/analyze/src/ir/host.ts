/**
 * The state of lowering one host: the graph that grows, and where in the source we are.
 *
 * Statements, expressions, calls and conditions are lowered by functions in files of their own; they
 * share this object. It knows about blocks and frames, not about syntax.
 *
 * A *frame* is one function being lowered. Inlined callbacks push a frame with their own scope, exit
 * and jump targets, so `return` in a callback leaves the callback and not the host.
 */
import type { Class, PropertyDefinition } from 'oxc-parser'
import { Block, connectForks, noBlocks, noChecks } from './graph.ts'
import type { Access, Branch, Event, Fork, Graph, WriteKind } from './graph.ts'
import type { Location, LocationTable } from './locations.ts'
import type { AnyFunction } from './nodes.ts'
import type { OwnCallbacks } from './own-callbacks.ts'
import { isRepeatedIn } from './own-variable.ts'
import type {
  CallSite,
  ClassUnit,
  FileUnit,
  FunctionUnit,
  Suspension,
  SuspensionKind,
} from './program.ts'
import type { Binding, Scope } from './scope.ts'
import type { SharedVariables } from './shared-variables.ts'
import type { Value } from './values.ts'

export interface UnitOptions {
  readonly name: string | undefined
  readonly kind: FunctionUnit['kind']
  readonly class?: ClassUnit | undefined
  readonly isStatic?: boolean
  readonly visibility?: FunctionUnit['visibility']
}

/** The place of the declaration of a function that is lowered where it is an argument. */
export interface GivenFunction {
  readonly scope: Scope
  readonly thisValue: Value
}

/** The context of lowering a file, for its functions. */
export interface FileLowering {
  readonly file: FileUnit
  readonly table: LocationTable
  /** Names that have a `.prototype` somewhere in the file. */
  readonly prototypes: ReadonlySet<string>
  /** Names of variables that hold the prototype of one of them. */
  readonly prototypeAliases: ReadonlyMap<string, string>
  /** Names of functions that the settings call guards: they run their callback alone. */
  readonly guards: ReadonlySet<string>
  /** Functions whose own code runs their callback at once. */
  readonly ownCallbacks: OwnCallbacks
  /** Variables of functions that the functions inside them share. */
  readonly sharedVariables: SharedVariables
  /** One unit per node, however often it is asked for. */
  unitOf(node: AnyFunction, parent: FunctionUnit, options: UnitOptions): FunctionUnit
  classOf(node: object, make: () => ClassUnit): ClassUnit
  newClass(name: string, start: number, end: number, superName?: string, scope?: Scope): ClassUnit
  /** Lowers the function as a host of its own, once everything around it is lowered. */
  enqueue(unit: FunctionUnit, scope: Scope, thisValue: Value): void
  /** Lets a call lower the function; it becomes a host of its own when no call has done so. */
  enqueueGiven(unit: FunctionUnit, scope: Scope, thisValue: Value): void
  /** Whether a call has still to lower the function. */
  isGiven(unit: FunctionUnit): boolean
  /** Hands the place of such a function to the call that lowers it. */
  takeGiven(unit: FunctionUnit): GivenFunction | undefined
  /** Lowers the initialisers of a class's fields, as part of its construction. */
  enqueueFields(
    owner: ClassUnit,
    node: Class,
    fields: readonly PropertyDefinition[],
    parent: FunctionUnit,
    scope: Scope,
  ): void
  tooDeep(start: number): void
}

interface Jump {
  readonly label: string | undefined
  readonly breakTo: Block
  readonly continueTo: Block | undefined
}

export interface Frame {
  readonly unit: FunctionUnit
  scope: Scope
  /** Where `return` goes; undefined is the end of the host. */
  readonly exit: Block | undefined
  readonly jumps: Jump[]
  /** Entries of the copies of `finally` that an early exit runs through, innermost last. */
  readonly finallies: Block[]
  handler: Block | undefined
  readonly thisValue: Value
  readonly isInitial: boolean
}

/** Deeper trees are cut: the stack of this process is finite. Real code stays below a hundred. */
const maxDepth = 600

/** A stored value decides the class of a field. */
function learnType(location: Location, value: Value): void {
  const owner = location.class
  if (owner === undefined) return
  if (value.constructed !== undefined) owner.fieldClasses.set(location.field, value.constructed)
  else if (value.location?.typeName !== undefined && !owner.fieldTypes.has(location.field))
    owner.fieldTypes.set(location.field, value.location.typeName)
}

export class HostLowering {
  readonly file: FileLowering
  readonly host: FunctionUnit
  readonly blocks: Block[] = []
  readonly forks: Fork[] = []
  readonly entry: Block
  current: Block
  frame: Frame
  #depth = 0
  #cleanup: 0 | 1 | 2 = 0
  #loops = 0
  #isTruncated = false
  #suspends = false

  constructor(file: FileLowering, host: FunctionUnit, scope: Scope, thisValue: Value) {
    this.file = file
    this.host = host
    this.frame = {
      unit: host,
      scope,
      exit: undefined,
      jumps: [],
      finallies: [],
      handler: undefined,
      thisValue,
      isInitial: host.kind === 'constructor' || host.kind === 'module',
    }
    this.entry = this.block()
    this.current = this.entry
  }

  get unit(): FunctionUnit {
    return this.frame.unit
  }

  get scope(): Scope {
    return this.frame.scope
  }

  // ---- depth

  /** True when there is room for one more level; every true is followed by `leave()`. */
  enter(start: number): boolean {
    if (this.#depth >= maxDepth) {
      if (!this.#isTruncated) this.file.tooDeep(start)
      this.#isTruncated = true
      return false
    }
    this.#depth++
    return true
  }

  leave(): void {
    this.#depth--
  }

  // ---- blocks

  block(): Block {
    const block = new Block(this.blocks.length, this.#cleanup, this.#loops > 0)
    this.blocks.push(block)
    return block
  }

  link(from: Block, to: Block): void {
    from.linkTo(to)
  }

  /** Goes on in a new block that follows the current one. */
  advance(): Block {
    const next = this.block()
    this.link(this.current, next)
    this.current = next
    return next
  }

  jumpTo(block: Block): void {
    this.link(this.current, block)
    this.current = block
  }

  /** The following code cannot be reached from here. */
  unreachable(): void {
    this.current = this.block()
  }

  inLoop<T>(body: () => T): T {
    this.#loops++
    try {
      return body()
    } finally {
      this.#loops--
    }
  }

  inCleanup<T>(kind: 1 | 2, body: () => T): T {
    const before = this.#cleanup
    this.#cleanup = kind
    try {
      return body()
    } finally {
      this.#cleanup = before
    }
  }

  withScope<T>(scope: Scope, body: () => T): T {
    const before = this.frame.scope
    this.frame.scope = scope
    try {
      return body()
    } finally {
      this.frame.scope = before
    }
  }

  withFrame<T>(frame: Frame, body: () => T): T {
    const before = this.frame
    this.frame = frame
    try {
      return body()
    } finally {
      this.frame = before
    }
  }

  // ---- events

  emit(event: Event): void {
    this.current.add(event)
  }

  mayThrow(): void {
    const { handler } = this.frame
    if (handler !== undefined) this.link(this.current, handler)
  }

  read(location: Location, start: number, end: number): Access {
    const access = this.#access('read', location, start, end, undefined, undefined)
    return access
  }

  /** @param isInitial It declares the variable, so no other task has seen it. */
  write(
    location: Location,
    kind: WriteKind,
    value: Value,
    start: number,
    end: number,
    isInitial = false,
  ): Access {
    if (location.scope === 'instance' && location.depth === 1) learnType(location, value)
    return this.#access('write', location, start, end, kind, value, isInitial)
  }

  #access(
    op: 'read' | 'write',
    location: Location,
    start: number,
    end: number,
    kind: WriteKind | undefined,
    value: Value | undefined,
    isInitial = false,
  ): Access {
    const access: Access = {
      op,
      location,
      owner: this.frame.unit,
      start,
      end,
      kind,
      value,
      checks: noChecks,
      isInitial: isInitial || this.frame.isInitial,
      use: undefined,
      isAsserted: false,
    }
    this.current.add(access)
    return access
  }

  suspend(
    kind: SuspensionKind,
    start: number,
    end: number,
    joins: readonly CallSite[],
    awaited: readonly Access[] = [],
  ): void {
    const { unit: owner } = this.frame
    const suspension: Suspension = { op: 'suspend', kind, owner, start, end, joins, awaited }
    this.frame.unit.suspensions.push(suspension)
    this.current.add(suspension)
    if (kind !== 'call') this.#suspends = true
    this.mayThrow()
    this.advance()
  }

  newBranch(
    whenTrue: Block,
    whenFalse: Block,
    start: number,
    end: number,
    isLoop: boolean,
  ): Branch {
    return { whenTrue, whenFalse, blocks: noBlocks, isLoop, start, end }
  }

  /** A block that is entered once the current region has ended. */
  laterEntry(): Block {
    const to = this.block()
    this.forks.push({ from: this.current, to })
    this.advance()
    return to
  }

  // ---- names

  /** The location of a name, when other tasks can meet there. */
  variable(binding: Binding): Location | undefined {
    if (binding.kind === 'class') return undefined
    if (binding.kind === 'import') {
      const { import: from } = binding
      const isOurs = from !== undefined && /^[.#]/.test(from.source) && !/^[A-Z]/.test(from.name)
      return isOurs ? this.file.table.imported(this.file.file, from.source, from.name) : undefined
    }
    if (binding.kind === 'function' && binding.assignments === 0) return undefined
    if (binding.kind === 'const' && binding.value.literal !== undefined) return undefined
    const declaredIn = binding.unit
    const isModule = declaredIn.kind === 'module'
    if (!isModule && declaredIn.host === this.host && !this.#isSharedHere(binding)) return undefined
    return this.file.table.variable(this.file.file, declaredIn, binding.name, binding.id)
  }

  /** Functions inside the one that declares it meet at the variable, at different times. */
  #isSharedHere({ kind, name, unit }: Binding): boolean {
    if (isRepeatedIn(this.unit, unit)) return true
    return (kind === 'let' || kind === 'var') && this.file.sharedVariables.has(unit.start, name)
  }

  // ---- the end

  finish(): Graph {
    connectForks(this.blocks, this.forks)
    for (const block of this.blocks) block.trim()
    return {
      entry: this.entry,
      blocks: this.blocks.slice(),
      suspends: this.#suspends,
      isTruncated: this.#isTruncated,
    }
  }
}
