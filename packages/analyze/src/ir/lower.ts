/**
 * One file, from tree to units with graphs.
 *
 * The module's top level is lowered first, then every function that was met on the way, breadth
 * first: by then the names around a function have got their values.
 */
import type { Class, PropertyDefinition } from 'oxc-parser'
import type { ParsedFile } from '../frontend/parse.ts'
import type { Diagnostic } from '../analysis.ts'
import { lowerExpression } from './expressions.ts'
import { HostLowering } from './host.ts'
import type { FileLowering, GivenFunction, UnitOptions } from './host.ts'
import { declareParams, lowerBody } from './inline.ts'
import { LocationTable } from './locations.ts'
import { keyName } from './nodes.ts'
import type { AnyFunction, AnyNode } from './nodes.ts'
import { OwnCallbacks } from './own-callbacks.ts'
import type { ClassUnit, FileUnit, FunctionUnit } from './program.ts'
import { hoistVars, Scope } from './scope.ts'
import { SharedVariables } from './shared-variables.ts'
import { lowerStatements } from './statements.ts'
import { unknown } from './values.ts'
import type { Value } from './values.ts'
import { kindOf } from './assignments.ts'

type Field = PropertyDefinition

export interface Lowered {
  readonly file: FileUnit
  /** The names of the module, for linking. */
  readonly scope: Scope
  /** The locations that its text names. */
  readonly locations: LocationTable
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Lowers a file. The result depends on these three and on no other file.
 *
 * @param path Relative to the root.
 * @param guards Functions that run their callback alone.
 */
export function lowerFile(parsed: ParsedFile, path: string, guards: ReadonlySet<string>): Lowered {
  const lowering = new LowerFile(parsed, path, guards)
  return lowering.run()
}

let nextFile = 0
let nextClass = 0

interface Pending {
  readonly unit: FunctionUnit
  readonly scope: Scope
  readonly thisValue: Value
  readonly fields?: { readonly owner: ClassUnit; readonly fields: readonly Field[] }
}

const annotationPattern = /@(serial|requestScoped|guardedBy\([^)]*\))/g

class LowerFile implements FileLowering {
  readonly file: FileUnit
  readonly table = new LocationTable()
  readonly prototypes: ReadonlySet<string>
  readonly prototypeAliases: ReadonlyMap<string, string>
  readonly guards: ReadonlySet<string>
  readonly ownCallbacks: OwnCallbacks
  readonly sharedVariables: SharedVariables
  readonly #units = new Map<object, FunctionUnit>()
  readonly #classes = new Map<object, ClassUnit>()
  readonly #queue: Pending[] = []
  readonly #queued = new Set<FunctionUnit>()
  readonly #given = new Map<FunctionUnit, GivenFunction>()
  readonly #diagnostics: Diagnostic[] = []
  readonly #annotations: { readonly end: number; readonly names: readonly string[] }[]

  constructor(parsed: ParsedFile, path: string, guards: ReadonlySet<string>) {
    this.guards = guards
    this.ownCallbacks = new OwnCallbacks(parsed.program)
    this.sharedVariables = new SharedVariables(parsed.program)
    this.prototypes = prototypesIn(parsed.text)
    this.prototypeAliases = this.prototypes.size === 0 ? noAliases : aliasesIn(parsed.text)
    this.#annotations = annotationsOf(parsed)
    const file = {
      id: nextFile++,
      path,
      parsed,
      units: [] as FunctionUnit[],
      classes: [] as ClassUnit[],
      exports: new Map(),
      exportAll: [],
      imports: new Map(),
    } as unknown as FileUnit
    this.file = file
    const module = this.#newUnit(parsed.program, undefined, { name: '<module>', kind: 'module' })
    ;(file as { module: FunctionUnit }).module = module
  }

  run(): Lowered {
    const { module, parsed } = this.file
    const scope = new Scope(undefined, module)
    const cx = new HostLowering(this, module, scope, unknown)
    hoistVars(parsed.program.body, scope)
    lowerStatements(cx, parsed.program.body)
    module.graph = cx.finish()
    for (let at = 0; at < this.#queue.length || this.#given.size > 0; at++) {
      // Functions that no call has lowered are hosts of their own.
      if (at === this.#queue.length) this.#enqueueAllGiven()
      this.#lowerPending(this.#queue[at]!)
    }
    return { file: this.file, scope, locations: this.table, diagnostics: this.#diagnostics }
  }

  #lowerPending({ unit, scope: outer, thisValue, fields }: Pending): void {
    const scope = new Scope(outer, unit)
    const cx = new HostLowering(this, unit, scope, thisValue)
    if (fields === undefined) {
      const node = unit.node as AnyFunction
      declareParams(cx, node, scope)
      lowerBody(cx, node, undefined)
    } else {
      for (const field of fields.fields) {
        const name = keyName(field.key, field.computed)
        const value = lowerExpression(cx, field.value!, name)
        if (name !== undefined)
          cx.write(
            this.table.instance(fields.owner, name),
            kindOf(value),
            value,
            field.start,
            field.end,
          )
      }
    }
    unit.graph = cx.finish()
  }

  enqueueGiven(unit: FunctionUnit, scope: Scope, thisValue: Value): void {
    if (!this.#queued.has(unit)) this.#given.set(unit, { scope, thisValue })
  }

  isGiven(unit: FunctionUnit): boolean {
    return this.#given.has(unit)
  }

  takeGiven(unit: FunctionUnit): GivenFunction | undefined {
    const given = this.#given.get(unit)
    if (given === undefined) return undefined
    this.#given.delete(unit)
    this.#queued.add(unit)
    return given
  }

  #enqueueAllGiven(): void {
    for (const [unit, { scope, thisValue }] of this.#given) this.enqueue(unit, scope, thisValue)
    this.#given.clear()
  }

  unitOf(node: AnyFunction, parent: FunctionUnit, options: UnitOptions): FunctionUnit {
    const known = this.#units.get(node)
    if (known !== undefined) return known
    const unit = this.#newUnit(node, parent, options)
    this.#units.set(node, unit)
    return unit
  }

  #newUnit(
    node: AnyFunction | AnyNode,
    parent: FunctionUnit | undefined,
    options: UnitOptions,
  ): FunctionUnit {
    const fn = 'params' in node && Array.isArray(node.params) ? (node as AnyFunction) : undefined
    const own = options.name
    const prefix =
      options.class !== undefined
        ? `${options.class.name}.`
        : parent === undefined || parent.kind === 'module'
          ? ''
          : `${parent.namedAs}.`
    const isConstructorFunction = options.kind === 'function' && options.class !== undefined
    const named = own === undefined ? undefined : isConstructorFunction ? own : `${prefix}${own}`
    const namedAs = named ?? parent?.namedAs ?? '<module>'
    const unit: FunctionUnit = {
      id: this.file.units.length,
      file: this.file,
      name: named ?? `${namedAs}.<callback>`,
      namedAs,
      node,
      start: node.start,
      end: node.end,
      parent,
      host: undefined as unknown as FunctionUnit,
      class: options.class,
      kind: isConstructorFunction ? 'constructor' : options.kind,
      isAsync: fn?.async ?? false,
      isGenerator: fn?.generator ?? false,
      isStatic: options.isStatic ?? false,
      visibility: options.visibility ?? 'local',
      isExported: false,
      params:
        fn === undefined
          ? []
          : fn.params.map((param) => (param.type === 'Identifier' ? param.name : '')),
      annotations: this.#annotationsBefore(node.start),
      calls: [],
      suspensions: [],
      returned: [],
      callers: [],
      reach: new Map(),
    }
    unit.host = unit
    this.file.units.push(unit)
    return unit
  }

  #annotationsBefore(start: number): readonly string[] {
    if (this.#annotations.length === 0) return []
    const { text } = this.file.parsed
    const found = this.#annotations.findLast((one) => one.end <= start)
    if (found === undefined || start - found.end > 200) return []
    return /[;{}]/.test(text.slice(found.end, start)) ? [] : found.names
  }

  classOf(node: object, make: () => ClassUnit): ClassUnit {
    let known = this.#classes.get(node)
    if (known === undefined) this.#classes.set(node, (known = make()))
    return known
  }

  newClass(name: string, start: number, end: number, superName?: string, scope?: Scope): ClassUnit {
    const unit: ClassUnit = {
      id: nextClass++,
      file: this.file,
      name,
      start,
      end,
      superName,
      superScope: scope,
      methods: new Map(),
      statics: new Map(),
      fieldTypes: new Map(),
      fieldClasses: new Map(),
      isExported: false,
      superClass: undefined,
      subclasses: [],
    }
    this.file.classes.push(unit)
    return unit
  }

  enqueue(unit: FunctionUnit, scope: Scope, outerThis: Value): void {
    if (this.#queued.has(unit)) return
    this.#queued.add(unit)
    const isArrow = unit.node.type === 'ArrowFunctionExpression'
    const thisValue =
      unit.class !== undefined ? { instanceOf: unit.class } : isArrow ? outerThis : unknown
    this.#queue.push({ unit, scope, thisValue })
  }

  enqueueFields(
    owner: ClassUnit,
    node: Class,
    fields: readonly Field[],
    parent: FunctionUnit,
    scope: Scope,
  ): void {
    if (this.#units.has(node.body)) return
    const unit = this.#newUnit(node.body, parent, {
      name: '<fields>',
      kind: 'constructor',
      class: owner,
    })
    this.#units.set(node.body, unit)
    this.#queue.push({ unit, scope, thisValue: { instanceOf: owner }, fields: { owner, fields } })
  }

  tooDeep(start: number): void {
    const { line } = this.file.parsed.lineAt(start)
    this.#diagnostics.push({
      kind: 'function-too-complex',
      file: this.file.path,
      line,
      message:
        'The code here is nested too deeply to be followed; its inner part was not analysed.',
      isIncomplete: true,
    })
  }
}

/** Longer names are none: source maps are words of megabytes. */
const longestName = 100
const nameBefore = /(?<![\w$])[A-Za-z_$][\w$]*$/
const isOfName = /[\w$]/

/** Names that have a `.prototype` somewhere in the text. */
function prototypesIn(text: string): ReadonlySet<string> {
  const found = new Set<string>()
  for (let at = text.indexOf('.prototype'); at !== -1; at = text.indexOf('.prototype', at + 10)) {
    if (isOfName.test(text[at + 10] ?? '')) continue
    const name = nameBefore.exec(text.slice(Math.max(0, at - longestName), at))
    if (name !== null) found.add(name[0])
  }
  return found
}

const noAliases: ReadonlyMap<string, string> = new Map()
const alias = /\b(?:var|let|const)\s+([\w$]+)\s*=\s*([\w$]+)\.prototype\s*(?:[;,]|$)/gm

function aliasesIn(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const [, name, className] of text.matchAll(alias)) found.set(name!, className!)
  return found
}

function annotationsOf(parsed: ParsedFile): { end: number; names: string[] }[] {
  const found: { end: number; names: string[] }[] = []
  const { text } = parsed
  if (!['@serial', '@requestScoped', '@guardedBy'].some((name) => text.includes(name))) return found
  for (const comment of parsed.comments) {
    const names = Array.from(comment.value.matchAll(annotationPattern), (match) => match[1]!)
    if (names.length > 0) found.push({ end: comment.end, names })
  }
  return found
}
