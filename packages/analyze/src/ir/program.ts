/**
 * The program as every part of the analyzer sees it: files, classes, functions, calls, roots.
 *
 * A *unit* is one function as it is written. A *host* is a unit with a control flow graph of its own;
 * callbacks that are written inline (`.then(() => …)`, `items.map(async …)`, promise executors,
 * listeners, timers) are lowered into the graph of the function around them, because that is where
 * their order is known. They are units all the same, so that names and the call graph are complete.
 *
 * I1. Every call is in `calls` of exactly one unit: the one whose text it is in.
 * I2. `targets` are filled by linking. Before that they are empty; after it they do not change. A unit is a
 *     target of a call exactly when the call is among its `callers`.
 * I3. `reach` of a unit contains the reach of everything that calls it.
 */
import type { ParsedFile } from '../frontend/parse.ts'
import type { Access, Check, Graph } from './graph.ts'
import type { Location } from './locations.ts'
import type { AnyFunction, AnyNode } from './nodes.ts'
import type { Scope } from './scope.ts'
import type { Value } from './values.ts'

/** The way a function comes to run: it decides which functions it overlaps with, and what waits when it blocks. */
export type Reach =
  /** A handler of an HTTP request, an RPC or a message. */
  | 'request'
  /** A listener. */
  | 'event'
  /** `setInterval`, `setTimeout`, `setImmediate`. */
  | 'timer'
  /** Started several times without waiting: `Promise.all(items.map(async …))`. */
  | 'parallel'
  /** Every importer of the module may call it at any time. */
  | 'exported'
  /** The top level of a module and the code that runs from it. */
  | 'start-up'

export interface FileUnit {
  /** Unlike that of any other in this process; says nothing about the order of files. */
  readonly id: number
  /** Relative to the root, with `/`. */
  readonly path: string
  readonly parsed: ParsedFile
  /** The top level of the module. */
  readonly module: FunctionUnit
  readonly units: FunctionUnit[]
  readonly classes: ClassUnit[]
  /** Exported name → what it is; `default` and `*` included. Re-exports name another module. */
  readonly exports: Map<string, Exported>
  /** Modules whose names are all exported again: `export * from './x'`. */
  readonly exportAll: string[]
  /** Specifier → file of the program, filled by linking. */
  readonly imports: Map<string, FileUnit | undefined>
}

export type Exported =
  | { readonly kind: 'local'; readonly name: string }
  | { readonly kind: 'unit'; readonly unit: FunctionUnit }
  | { readonly kind: 'class'; readonly class: ClassUnit }
  | { readonly kind: 'from'; readonly source: string; readonly name: string }

export interface ClassUnit {
  /** Unique in this process; unrelated to the order of classes. */
  readonly id: number
  readonly file: FileUnit
  readonly name: string
  readonly start: number
  readonly end: number
  /** Name in the scope of the class; absent when it is an expression. */
  readonly superName: string | undefined
  readonly superScope: Scope | undefined
  readonly methods: Map<string, FunctionUnit>
  readonly statics: Map<string, FunctionUnit>
  /** Names of types that fields are declared with or constructed from. */
  readonly fieldTypes: Map<string, string>
  /** The same, where the class is known by its scope. */
  readonly fieldClasses: Map<string, NameInScope>
  isExported: boolean
  /** Filled by linking. */
  superClass: ClassUnit | undefined
  readonly subclasses: ClassUnit[]
}

export interface NameInScope {
  readonly name: string
  readonly scope: Scope
}

export type Visibility = 'public' | 'private' | 'local'

export interface FunctionUnit {
  /** Its place in the program. Set by linking. */
  id: number
  readonly file: FileUnit
  /** Qualified: `Client.connect`, `Crawler.prototype.start`, `start.<callback>`. */
  readonly name: string
  /**
   * The name of the nearest function around it (or of itself) that has one. Findings are reported
   * under it.
   */
  readonly namedAs: string
  readonly node: AnyFunction | AnyNode
  readonly start: number
  readonly end: number
  readonly parent: FunctionUnit | undefined
  /** Whose graph it is lowered into: itself, or a function around it. */
  host: FunctionUnit
  readonly class: ClassUnit | undefined
  readonly kind: 'module' | 'function' | 'method' | 'constructor' | 'getter' | 'setter' | 'callback'
  isAsync: boolean
  readonly isGenerator: boolean
  readonly isStatic: boolean
  visibility: Visibility
  isExported: boolean
  readonly params: readonly string[]
  /** `@serial`, `@requestScoped`, `@guardedBy(…)` in the comment before it. */
  readonly annotations: readonly string[]
  /** Calls in its own text, without those of functions inside it. */
  readonly calls: CallSite[]
  /** Suspensions in its own text. */
  readonly suspensions: Suspension[]
  /** Where the things that it returns are kept; undefined is something else. Changed by `noteReturn` only. */
  returned: readonly (Location | undefined)[]
  /** Filled for hosts. */
  graph?: Graph
  /** Filled by linking. */
  readonly callers: CallSite[]
  /** With where it comes from: `setInterval in Poller.start`. At most a few. */
  readonly reach: Map<Reach, ReachReason>
  /** How it is run when it is a callback. */
  role?: CallbackRole
}

export interface ReachReason {
  readonly text: string
  readonly file: FileUnit
  readonly start: number
  readonly end: number
}

export type SuspensionKind = 'await' | 'for-await' | 'yield' | 'continuation' | 'dispose' | 'call'

export interface Suspension {
  readonly op: 'suspend'
  readonly kind: SuspensionKind
  readonly owner: FunctionUnit
  readonly start: number
  readonly end: number
  /** Calls whose results are awaited here: their work after their own suspension is done by now. */
  readonly joins: readonly CallSite[]
  /** Reads of awaited values: `await this.pending`. */
  readonly awaited: readonly Access[]
}

/** When a callee runs the function it is given. */
export type CallbackRole =
  /** Called before the call returns, any number of times. */
  | 'sync'
  /** Before the call returns, up to its first suspension; instances overlap each other. */
  | 'sync-async'
  /** Once, later: `.then`, Node callbacks. */
  | 'later'
  | 'event'
  | 'timer'
  | 'interval'
  | 'request'
  /** Called while a guard is held. */
  | 'guarded'

export interface CallbackUse {
  readonly index: number
  readonly unit: FunctionUnit
  readonly role: CallbackRole
  /** Start of the argument, when the function is written elsewhere. */
  readonly at?: number
}

/** A function outside of the program: `node:fs` `readFileSync`; globals have the module `global`. */
export interface ExternalSymbol {
  readonly module: string
  readonly path: readonly string[]
}

/** The callee, as far as the text names it. Linking turns it into targets. */
export type Callee =
  | {
      readonly kind: 'name'
      readonly name: string
      readonly scope: Scope
      readonly path: readonly string[]
    }
  | {
      readonly kind: 'method'
      readonly class: ClassUnit
      readonly path: readonly string[]
      readonly isSuper: boolean
    }
  | { readonly kind: 'member'; readonly receiver: Value; readonly name: string }
  | { readonly kind: 'unit'; readonly unit: FunctionUnit }
  | { readonly kind: 'unknown' }

export interface CallSite {
  readonly op: 'call'
  readonly owner: FunctionUnit
  readonly start: number
  readonly end: number
  readonly callee: Callee
  /** The last name: `readFileSync`, `#connect`; empty for computed ones. */
  readonly name: string
  /** The location of the object it is called on: `this.socket` for `this.socket.write()`. */
  readonly receiver: Location | undefined
  readonly args: readonly Value[]
  readonly isNew: boolean
  /** A caller waits for it: `await f()`, `return f()`, `f().then(…)`, or stored and awaited later. */
  isJoined: boolean
  isAwaited: boolean
  isReturned: boolean
  /** A statement of its own, without `void`, `await` or a handler. */
  isFloating: boolean
  /** `await f()` as a statement: its result is not used. */
  isDiscarded: boolean
  /** `void f()` and `f().catch(…)`: meant to be on its own. */
  isDetached: boolean
  /** Changed by `addCallback` only. */
  callbacks: readonly CallbackUse[]
  /** The branches its result decides. Changed by `addCheck` only. */
  checks: readonly Check[]
  /** Functions of the program it may run. Filled by linking. */
  targets: readonly FunctionUnit[]
  /** The targets were found by a name that only one class has, not by knowing the object. */
  isGuess: boolean
  /** A copy of the callee is behind it in the graph: its effects are there. Set by `splice.ts`. */
  isSpliced: boolean
  external: ExternalSymbol | undefined
}

export interface Program {
  readonly root: string
  readonly files: readonly FileUnit[]
  readonly units: readonly FunctionUnit[]
  readonly classes: readonly ClassUnit[]
  readonly locations: readonly Location[]
}
