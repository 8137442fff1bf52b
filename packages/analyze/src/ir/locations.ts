/**
 * Shared locations: what two tasks can meet at.
 *
 * Field based: `Client.session` is one location for all instances, because a task that overlaps with
 * itself does so on the same instance. Paths have at most three fields. Entries of containers have
 * the key as a value number: the same number is the same entry, another one may be the same.
 *
 * Every file has a table of its own, so lowering a file affects no other file. Linking sees all tables as
 * one, and its additions are in none of them.
 *
 * I1. One object per location of a file: they are compared by identity. State outside of the process may
 *     be named in several files; the first of them is canonical.
 * I2. A key is unlike that of any other location of the process, except where it is the same thing outside.
 *
 * They are asked for at every name and every field of the program, so each is found by its parent
 * and its own name; the key as one text is put together only once.
 */
import type { CallSite, ClassUnit, FileUnit, FunctionUnit } from './program.ts'

export type LocationScope =
  | 'module'
  | 'instance'
  | 'closure'
  /** A field of an object that was passed as an argument. */
  | 'parameter'
  | 'entry'
  | 'external'

export class Location {
  /** Its place in the table of the program. Set by linking. */
  id: number
  readonly key: string
  /** The name that people use. */
  readonly name: string
  readonly scope: LocationScope
  /** The last field: `session`. */
  readonly field: string
  readonly depth: number
  /** The location it is a part of: `this.map` of an entry, `this.a` of `this.a.b`. */
  readonly parent: Location | undefined
  readonly class: ClassUnit | undefined
  /** For `closure` and `parameter`: where it is declared. */
  readonly unit: FunctionUnit | undefined
  readonly file: FileUnit
  /** For an entry: the number of its key; undefined when it is only known at run time. */
  readonly entryKey: string | undefined
  /** Parameters: the name of the declared type. */
  readonly typeName: string | undefined
  /** A name of another module. */
  readonly imported: ImportedName | undefined
  /** For `parameter`: the call that returned it. Linking finds out where that call keeps it. */
  readonly answeredBy: CallSite | undefined
  /** For `parameter`: several functions of the file get the same object. Set by linking. */
  isCommon = false
  /** The one that stands for it: the field of the base class for that of a subclass. Set by linking. */
  canonical: Location

  constructor(id: number, made: NewLocation) {
    this.id = id
    this.key = made.key
    this.name = made.name
    this.scope = made.scope
    this.field = made.field
    this.depth = made.depth
    this.parent = made.parent
    this.class = made.class
    this.unit = made.unit
    this.file = made.file
    this.entryKey = made.entryKey
    this.typeName = made.typeName
    this.imported = made.imported
    this.answeredBy = made.answeredBy
    this.canonical = this
  }
}

interface ImportedName {
  readonly source: string
  readonly name: string
}

type Always = 'key' | 'name' | 'scope' | 'field' | 'depth' | 'file'
type NewLocation = Pick<Location, Always> & {
  readonly [K in Exclude<keyof Location, Always | 'id' | 'canonical' | 'isCommon'>]?: Location[K]
}

const maxDepth = 3

/** A container of named parts: objects of a class, the imports of a module, another location. */
type Whole = ClassUnit | FileUnit | Location

type Parts = Map<string, Location>

interface FileLocations {
  readonly file: FileUnit
  readonly locations: LocationTable
}

export class LocationTable {
  readonly all: Location[] = []
  readonly #fields = new Map<Whole, Parts>()
  readonly #entries = new Map<Location, Parts>()
  /** Keyed by the number of the binding. */
  readonly #variables = new Map<number, Location>()
  readonly #parameters = new Map<number, Location>()
  readonly #external = new Map<string, Location>()
  /** For a program: the tables of its files. */
  #files: ReadonlyMap<FileUnit, LocationTable> | undefined

  /** The tables of files as one. It stays apart from them: theirs do not change any more. */
  static ofProgram(files: readonly FileLocations[]): LocationTable {
    const table = new LocationTable()
    table.#files = new Map(files.map(({ file, locations }) => [file, locations]))
    for (const { locations } of files) {
      for (const location of locations.all) {
        location.id = table.all.length
        table.all.push(location)
        if (location.scope === 'external' && !table.#external.has(location.key))
          table.#external.set(location.key, location)
      }
    }
    return table
  }

  /** Where else something of this file may be known. */
  #tableOf(file: FileUnit): LocationTable {
    return this.#files?.get(file) ?? this
  }

  instance(owner: ClassUnit, field: string): Location {
    const fields = partsIn(this.#fields, owner)
    let found = fields.get(field) ?? this.#tableOf(owner.file).#fields.get(owner)?.get(field)
    if (found === undefined) {
      found = this.#add({
        key: `${owner.id}.${field}`,
        name: `${owner.name}.${field}`,
        scope: 'instance',
        field,
        depth: 1,
        class: owner,
        file: owner.file,
      })
      fields.set(field, found)
    }
    return found
  }

  variable(file: FileUnit, unit: FunctionUnit, name: string, binding: number): Location {
    let found = this.#variables.get(binding) ?? this.#tableOf(file).#variables.get(binding)
    if (found === undefined) {
      found = this.#add({
        key: `v${binding}`,
        name,
        scope: unit.kind === 'module' ? 'module' : 'closure',
        field: name,
        depth: 1,
        unit,
        file,
      })
      this.#variables.set(binding, found)
    }
    return found
  }

  /** A variable of another module; linking finds which. */
  imported(file: FileUnit, source: string, name: string): Location {
    const imports = partsIn(this.#fields, file)
    const from = `${source}:${name}`
    let found = imports.get(from) ?? this.#tableOf(file).#fields.get(file)?.get(from)
    if (found === undefined) {
      found = this.#add({
        key: `i${file.id}:${from}`,
        name,
        scope: 'module',
        field: name,
        depth: 1,
        unit: file.module,
        file,
        imported: { source, name },
      })
      imports.set(from, found)
    }
    return found
  }

  parameter(
    unit: FunctionUnit,
    name: string,
    binding: number,
    typeName?: string,
    answeredBy?: CallSite,
  ): Location {
    let found = this.#parameters.get(binding)
    if (found === undefined) {
      found = this.#add({
        key: `p${binding}`,
        name,
        scope: 'parameter',
        field: name,
        depth: 0,
        unit,
        file: unit.file,
        typeName,
        answeredBy,
      })
      this.#parameters.set(binding, found)
    }
    return found
  }

  /** `parent.field`; undefined when the path is too long to be followed. */
  field(parent: Location, field: string): Location | undefined {
    if (parent.depth >= maxDepth) return undefined
    const fields = partsIn(this.#fields, parent)
    let found = fields.get(field) ?? this.#tableOf(parent.file).#fields.get(parent)?.get(field)
    if (found === undefined) {
      found = this.#add({
        key: `${parent.key}.${field}`,
        name: `${parent.name}.${field}`,
        scope: parent.scope,
        field,
        depth: parent.depth + 1,
        parent,
        class: parent.class,
        unit: parent.unit,
        file: parent.file,
      })
      fields.set(field, found)
    }
    return found
  }

  entry(container: Location, keyNumber: string | undefined, keyText: string): Location {
    const entries = partsIn(this.#entries, container)
    const number = keyNumber ?? '?'
    let found =
      entries.get(number) ?? this.#tableOf(container.file).#entries.get(container)?.get(number)
    if (found === undefined) {
      found = this.#add({
        key: `${container.key}[${number}]`,
        name: `${container.name}[${keyText}]`,
        scope: 'entry',
        field: container.field,
        depth: container.depth,
        parent: container,
        class: container.class,
        unit: container.unit,
        file: container.file,
        entryKey: keyNumber,
      })
      entries.set(number, found)
    }
    return found
  }

  external(file: FileUnit, kind: string, keyNumber: string, name: string): Location {
    const key = `x:${kind}:${keyNumber}`
    let found = this.#external.get(key)
    if (found === undefined) {
      found = this.#add({
        key,
        name,
        scope: 'external',
        field: kind,
        depth: 1,
        file,
        entryKey: keyNumber,
      })
      this.#external.set(key, found)
    }
    return found
  }

  /** The first that names the same thing outside of the process. */
  firstOf(external: Location): Location {
    return this.#external.get(external.key) ?? external
  }

  #add(made: NewLocation): Location {
    const location = new Location(this.all.length, made)
    this.all.push(location)
    return location
  }
}

function partsIn<T>(of: Map<T, Parts>, whole: T): Parts {
  let parts = of.get(whole)
  if (parts === undefined) of.set(whole, (parts = new Map()))
  return parts
}
