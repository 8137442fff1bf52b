/**
 * Shared locations: what two tasks can meet at.
 *
 * Field based: `Client.session` is one location for all instances, because a task that overlaps with
 * itself does so on the same instance. Paths have at most three fields. Entries of containers have
 * the key as a value number: the same number is the same entry, another one may be the same.
 *
 * I1. One object per key: locations are compared by identity.
 */
import type { ClassUnit, FileUnit, FunctionUnit } from './program.ts'

export type LocationScope =
  | 'module'
  | 'instance'
  | 'closure'
  /** A field of an object that was handed in. */
  | 'parameter'
  | 'entry'
  | 'external'

export interface Location {
  readonly id: number
  readonly key: string
  /** As people name it. */
  readonly name: string
  readonly scope: LocationScope
  /** The last field: `session`. */
  readonly field: string
  readonly depth: number
  /** The location it is a part of: `this.map` of an entry, `this.a` of `this.a.b`. */
  readonly parent: Location | undefined
  readonly class: ClassUnit | undefined
  /** Of `closure` and `parameter`: where it is declared. */
  readonly unit: FunctionUnit | undefined
  readonly file: FileUnit
  /** Of an entry: the number of its key; undefined when only known at run time. */
  readonly entryKey: string | undefined
  /** Parameters: the name of the declared type. */
  readonly typeName: string | undefined
  /** A name of another module. */
  readonly imported: { readonly source: string; readonly name: string } | undefined
  /** The one that stands for it: the field of the base class for that of a subclass. Set by linking. */
  canonical: Location
}

const maxDepth = 3

export class LocationTable {
  readonly all: Location[] = []
  readonly #byKey = new Map<string, Location>()

  instance(owner: ClassUnit, field: string): Location {
    return this.#intern(`${owner.id}.${field}`, () => ({
      name: `${owner.name}.${field}`,
      scope: 'instance',
      field,
      depth: 1,
      class: owner,
      file: owner.file,
    }))
  }

  variable(file: FileUnit, unit: FunctionUnit, name: string, binding: number): Location {
    const isModule = unit.kind === 'module'
    return this.#intern(`v${binding}`, () => ({
      name,
      scope: isModule ? 'module' : 'closure',
      field: name,
      depth: 1,
      unit,
      file,
    }))
  }

  /** A variable of another module; linking finds which. */
  imported(file: FileUnit, source: string, name: string): Location {
    return this.#intern(`i${file.id}:${source}:${name}`, () => ({
      name,
      scope: 'module',
      field: name,
      depth: 1,
      unit: file.module,
      file,
      imported: { source, name },
    }))
  }

  parameter(unit: FunctionUnit, name: string, binding: number, typeName?: string): Location {
    return this.#intern(`p${binding}`, () => ({
      name,
      scope: 'parameter',
      field: name,
      depth: 0,
      unit,
      file: unit.file,
      typeName,
    }))
  }

  /** `parent.field`; undefined when the path is too long to be followed. */
  field(parent: Location, field: string): Location | undefined {
    if (parent.depth >= maxDepth) return undefined
    return this.#intern(`${parent.key}.${field}`, () => ({
      name: `${parent.name}.${field}`,
      scope: parent.scope === 'entry' ? 'entry' : parent.scope,
      field,
      depth: parent.depth + 1,
      parent,
      class: parent.class,
      unit: parent.unit,
      file: parent.file,
    }))
  }

  entry(container: Location, keyNumber: string | undefined, keyText: string): Location {
    return this.#intern(`${container.key}[${keyNumber ?? '?'}]`, () => ({
      name: `${container.name}[${keyText}]`,
      scope: 'entry',
      field: container.field,
      depth: container.depth,
      parent: container,
      class: container.class,
      unit: container.unit,
      file: container.file,
      entryKey: keyNumber,
    }))
  }

  external(file: FileUnit, kind: string, keyNumber: string, name: string): Location {
    return this.#intern(`x:${kind}:${keyNumber}`, () => ({
      name,
      scope: 'external',
      field: kind,
      depth: 1,
      file,
      entryKey: keyNumber,
    }))
  }

  #intern(
    key: string,
    make: () => Partial<Location> & Pick<Location, 'name' | 'scope' | 'field' | 'depth' | 'file'>,
  ): Location {
    const known = this.#byKey.get(key)
    if (known !== undefined) return known
    const location = {
      parent: undefined,
      class: undefined,
      unit: undefined,
      entryKey: undefined,
      typeName: undefined,
      imported: undefined,
      ...make(),
      id: this.all.length,
      key,
    } as Location
    location.canonical = location
    this.all.push(location)
    this.#byKey.set(key, location)
    return location
  }
}
